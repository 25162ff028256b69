import { type GlobToken, matchGlob, parseGlob } from './glob.ts'

/** Says whether a file, by its path relative to the .gitignore, is left out. */
export type Ignore = (path: string) => boolean

/** `**` stands for any number of directories. */
type Segment = '**' | readonly GlobToken[]

interface Rule {
  readonly ignores: boolean
  readonly segments: readonly Segment[]
  /** What the last segment matches may be a directory, with the file somewhere below. */
  readonly reachesBelow: boolean
}

/**
 * Compiles the lines of a .gitignore the way Harbor's packager reads them: the last rule that matches a file decides.
 * Unlike in git, a later `!` rule can bring back a file of an ignored directory, and `dir/*` spares what lies deeper.
 * Matching never backtracks, so that no untrusted pattern can take for ever.
 */
export function compileIgnore(lines: readonly string[]): Ignore {
  const rules = lines.flatMap((line) => compileRule(line) ?? [])
  return (path) => {
    const parts = path.split('/').map((part) => [...part])
    return rules.findLast((rule) => matches(rule, parts))?.ignores ?? false
  }
}

/** Splits a text at every line end that Python knows. */
export function splitLines(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: some line ends are control characters.
  return text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
}

function compileRule(line: string): Rule | null {
  const text = line.endsWith('\\ ') ? line : line.trimEnd()
  if (text === '' || text.startsWith('#')) return null
  const ignores = !text.startsWith('!')
  const pattern = ignores ? text : text.slice(1)
  const names = normalize(pattern)
  const segments = names.map((name) => (name === '**' ? name : parseGlob(name)))
  if (names.length === 0 || segments.includes(null)) return null
  const isEverything = names.join('/') === '**/*'
  return { ignores, segments: segments.filter((s) => s !== null), reachesBelow: isEverything || names.at(-1) !== '*' }
}

/** Makes anchoring explicit: a lone name matches at any depth, a trailing slash means everything below. */
function normalize(pattern: string): string[] {
  const names = pattern.split('/')
  const isLone = names.length === 1 || (names.length === 2 && names[1] === '')
  if (names[0] === '') names.shift()
  else if (isLone) names.unshift('**')
  if (names.at(-1) === '') names[names.length - 1] = '**'
  const single = names.filter((name, i) => name !== '**' || names[i - 1] !== '**')
  if (single.length > 1 || single[0] !== '**') return single
  return pattern.endsWith('/') && pattern !== '/' ? ['**', '*', '**'] : ['**', '*']
}

/** Follows all ways through the segments at once: `open` holds the segments that the next part may have to match. */
function matches(rule: Rule, path: readonly (readonly string[])[]): boolean {
  const { segments } = rule
  let open = new Set([0])
  for (const [i, part] of path.entries()) {
    const isLast = i === path.length - 1
    const next = new Set<number>()
    for (const at of skipStars(segments, open)) {
      const segment = segments[at]
      if (segment === '**') {
        if (at === segments.length - 1 && at > 0) return true
        next.add(at)
      } else if (segment && matchGlob(segment, part)) {
        if (at === segments.length - 1 && (isLast || rule.reachesBelow)) return true
        next.add(at + 1)
      }
    }
    open = next
  }
  return false
}

/** `**` may stand for nothing, except at the end, where something must follow. */
function skipStars(segments: readonly Segment[], open: ReadonlySet<number>): Set<number> {
  const all = new Set(open)
  for (const at of open) if (segments[at] === '**' && at < segments.length - 1) all.add(at + 1)
  return all
}
