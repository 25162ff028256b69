import type { Random } from 'ot-agent'
import { vocabulary } from './globs.ts'

/** A search for text in files: `grep` with a literal pattern, optionally at the start or end of a line. */
export interface Search {
  readonly text: string
  readonly anchor: 'start' | 'end' | 'none'
  readonly ignoresCase: boolean
  /** Prints only file names. */
  readonly namesOnly: boolean
}

const flags = /^-(?=[ilnHhrRsFEIw]+$)/

/** Reads the words of a `grep` whose files come after them; null if it does more. */
export function readSearch(words: readonly string[]): Search | null {
  const [program = '', ...args] = words
  if (!/^(?:\/bin\/|\/usr\/bin\/)?[ef]?grep$/.test(program)) return null
  const options = args
    .filter((word) => word.startsWith('-'))
    .map((word) => word.replace(/^--color(?:=\w+)?$/, '-n').replace('--ignore-case', '-i'))
  const [pattern, ...rest] = args.filter((word) => !word.startsWith('-') && word !== '{}' && word !== '/dev/null')
  if (pattern === undefined || rest.length > 0 || options.some((option) => !flags.test(option))) return null
  const text = pattern.replace(/^\^|\$$/g, '')
  if (!/^[\w .,:/=@"-]{2,40}$/.test(text.replace(/\\\./g, '.')) || text !== text.trim()) return null
  const all = options.join('')
  if (/w/.test(all)) return null
  return {
    text: text.replace(/\\\./g, '.'),
    anchor: pattern.startsWith('^') ? 'start' : pattern.endsWith('$') ? 'end' : 'none',
    ignoresCase: /i/.test(all),
    namesOnly: /l/.test(all),
  }
}

/** Lines, some of which hold the text at the required position. */
export function linesWith({ text, anchor }: Search, count: number, random: Random): string {
  const word = () => random.pick(vocabulary)
  const lines = Array.from({ length: 4 + random.below(4) }, () => `${word()} ${word()} ${random.below(900)}`)
  for (let nth = 0; nth < count; nth++) {
    const around = `${word()} ${random.below(90)}`
    const line =
      anchor === 'start' ? `${text} ${around}` : anchor === 'end' ? `${around} ${text}` : `${word()} ${text} ${around}`
    lines.splice(random.below(lines.length + 1), 0, line)
  }
  return `${lines.join('\n')}\n`
}

/** Why request and search may not mean the same; null if nothing suggests a difference. */
export function searchDisagreement(words: string, { text, anchor, ignoresCase, namesOnly }: Search): string | null {
  if (!words.includes(text)) return `the request does not mention ${text}`
  if (
    /^(?:pattern|string|text|word|something|expression|phrase|search|keyword)s?$/i.test(text) &&
    !new RegExp(`["']${text}["']`).test(words)
  )
    return 'a text that is not given'
  if ((anchor === 'start') !== /\b(?:start\w*(?! (?:from|in|at))|begin\w*) (?:with|of)\b|\^/i.test(words))
    return 'the start of a line'
  if (anchor === 'end') return 'the end of a line'
  if (/\bfile ?names? of files\b/i.test(words)) return 'names or contents'
  const saysCase = /\bcase\b|insensitiv|ignoring case/i.test(words)
  if (saysCase && !ignoresCase) return 'case'
  const wantsNames =
    /\bfiles?\b.{0,60}\b(?:contain\w*|hav(?:e|ing)|with|includ\w*|match\w*|where)\b|\b(?:names?|list) (?:of )?(?:the |all )*files?|\bfile ?names?\b|\bwhich files\b/i.test(
      words,
    )
  const wantsLines =
    /\blines?\b|\boccurrences?\b|\bsearch\w*(?! (?:through )?(?:the )?(?:current|directory|folder))|\bgrep\b|\blook\w* for\b|\bmatches\b|\bfind (?:the |all )?(?:word|string|text|pattern|occurrence)/i.test(
      words,
    )
  if (namesOnly) return wantsNames && !/\blines?\b/i.test(words) ? null : 'names or lines'
  return wantsLines && !/\bfile ?names?\b|\blist\b|\bnames? of\b/i.test(words) ? null : 'names or lines'
}
