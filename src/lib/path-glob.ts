/** Tells whether a path matches a pattern. */
export interface PathGlob {
  test(path: string): boolean
}

/**
 * Path patterns: `*` within a folder, `**` across folders, `?`, `[ab]` and `{a,b}`; a folder stands for everything in
 * it. Patterns also come from dataset cards: the time for a match is at most proportional to the pattern's length times
 * the path's, whatever the pattern says.
 */
export function parseGlob(pattern: string): PathGlob {
  const plain = pattern.replace(/^\.?\//, '').replace(/\/+$/, '')
  // No path is longer.
  const patterns = plain.length > 4096 ? [] : expandBraces(plain).map(tokensOf)
  return { test: (path) => patterns.some((tokens) => matches(tokens, [...path])) }
}

/** Whether a path is a pattern rather than the name of a single file. */
export function isGlob(path: string): boolean {
  return /[*?]|\[[^\]/]+\]|\{[^{}]*\}/.test(path)
}

const mostAlternatives = 256

function expandBraces(pattern: string): readonly string[] {
  let all = ['']
  for (const part of pattern.split(/(\{[^{}]*\})/)) {
    const choices = /^\{.*\}$/s.test(part) ? part.slice(1, -1).split(',') : [part]
    if (all.length * choices.length > mostAlternatives) return []
    all = all.flatMap((before) => choices.map((choice) => before + choice))
  }
  return all
}

/** `dirs` is the inner part of `maybe-dirs`, which stands for nothing or for folders and a slash. */
type Token =
  | { readonly kind: 'star' | 'stars' | 'maybe-dirs' | 'dirs' }
  | { readonly kind: 'one'; takes(char: string): boolean }

function tokensOf(pattern: string): readonly Token[] {
  const parts = pattern.match(/\*\*\/|\*\*|\*|\?|\[[^\]/]+\]|[\s\S]/gu) ?? []
  return parts.flatMap((part): Token[] => {
    if (part === '**/') return [{ kind: 'maybe-dirs' }, { kind: 'dirs' }]
    if (part === '**') return [{ kind: 'stars' }]
    if (part === '*') return [{ kind: 'star' }]
    if (part === '?') return [{ kind: 'one', takes: (char) => char !== '/' }]
    if (/^\[.+\]$/su.test(part)) return [{ kind: 'one', takes: classOf(part.slice(1, -1)) }]
    return [{ kind: 'one', takes: (char) => char === part }]
  })
}

function classOf(inside: string): (char: string) => boolean {
  const negated = /^[!^]./su.test(inside)
  const chars = [...(negated ? inside.slice(1) : inside)]
  const isIn = (char: string) =>
    chars.some((each, i) => {
      const to = chars[i + 2]
      return each === char || (chars[i + 1] === '-' && to !== undefined && each <= char && char <= to)
    })
  return (char) => char !== '/' && isIn(char) !== negated
}

/** Follows all ways through the pattern in parallel. */
function matches(tokens: readonly Token[], path: readonly string[]): boolean {
  let places = withSkips(new Set([0]), tokens)
  for (const char of path) {
    // The rest is inside the folder that the pattern names.
    if (char === '/' && places.has(tokens.length)) return true
    const next = new Set<number>()
    for (const place of places) {
      const token = tokens[place]
      if (token === undefined) continue
      if (token.kind === 'one' ? token.takes(char) : token.kind.endsWith('dirs') && char === '/')
        next.add(place + (token.kind === 'maybe-dirs' ? 2 : 1))
      if (token.kind === 'stars' || token.kind === 'dirs' || (token.kind === 'star' && char !== '/')) next.add(place)
      if (token.kind === 'maybe-dirs') next.add(place + 1)
    }
    places = withSkips(next, tokens)
    if (places.size === 0) return false
  }
  return places.has(tokens.length)
}

function withSkips(places: Set<number>, tokens: readonly Token[]): Set<number> {
  // Iterating over a set includes items added on the way.
  for (const place of places) {
    const kind = tokens[place]?.kind
    if (kind === 'star' || kind === 'stars') places.add(place + 1)
    if (kind === 'maybe-dirs') places.add(place + 2)
  }
  return places
}
