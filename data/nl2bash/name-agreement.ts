import { type FindCall, isNameTest, testsOf } from './find.ts'
import { piecesOf } from './globs.ts'

/** Gives only part of a name: "that match x in their names". */
const saysPart =
  /\bpattern\b|\bin them\b|\b(?:match\w*|contain\w*)\b[^.]{0,30}\bnames?\b|\bin (?:the|their|its) (?:file ?)?names?\b|\b(?:mat|pat)ch(?:ing|es)?\b/i

/** Why names in words and tests may not mean the same; null if nothing suggests a difference. */
export function nameDisagreement(words: string, call: FindCall): string | null {
  const lower = words.toLowerCase()
  for (const { name, value } of testsOf(call).filter(isNameTest)) {
    // A plus after a set, or a leading dot and star, is more likely a regular expression.
    if (/[\\\]{}$]/.test(value.replace(/\[[^\]]*\]/g, '')) || /\]\+|^\.\*.|^ | $|^\* \*$/.test(value))
      return 'an odd pattern'
    if (/\*[,;:]\w/.test(words) && !words.includes(value)) return 'an odd pattern'
    const missing = piecesOf(value).find((piece) => !hasPiece(lower, piece.toLowerCase()))
    if (missing !== undefined) return `the request does not mention ${missing}`
    // "jpg files" does not mean `*.JPG`, and "core files" means more than those that end in `.core`.
    if (!/^i/.test(name) && piecesOf(value).some((piece) => /[A-Z]/.test(piece) && !words.includes(piece)))
      return 'case'
    if (value === '*.core' && !words.includes('.core')) return 'an odd ending'
    const isHidden = value === '.*' && /\bhidden\b/i.test(words)
    if (piecesOf(value).length === 0 && !words.includes(value) && !isHidden) return 'a pattern of marks'
    if (!/[*?[]/.test(value) && saysPart.test(words)) return 'a part of a name'
    if (!isHidden && !words.includes(value) && !sideAgrees(words, value)) return `${value} is said in another way`
    if (/^i/.test(name) !== /\bcase\b|case-?insens|insensitiv|regardless|upper|lower/i.test(words) && !/^i/.test(name))
      return 'case'
  }
  const values = testsOf(call)
    .filter(isNameTest)
    .map(({ value }) => value)
  // "With x and y in their names" could mean either or both.
  if (call.alternatives.length > 1 && values.some((value) => /^\*.*\*$/.test(value)) && /\band\b/i.test(words))
    return 'either or both'
  const literals = [
    ...words.matchAll(/"([^"\s]+)"|'([^'\s]+)'|(?<![\w/])(\*?\.[a-z]\w{0,5})\b|(?<![\w.])(\w[\w-]*\.[a-z]\w{0,5})\b/gi),
  ]
  const all =
    `${values.join(' ')} ${call.roots.join(' ')} ${call.action.name === 'exec' ? call.action.words.join(' ') : ''}`.toLowerCase()
  const unknown = literals
    .map(([, a, b, c, d]) => (a ?? b ?? c ?? d ?? '').replace(/[.,;:]+$/, '').toLowerCase())
    .find(
      (literal) =>
        literal !== '' && !all.includes(literal.replace(/^\.\//, '')) && !all.includes(literal.replace(/\/$/, '')),
    )
  return unknown === undefined ? null : `the command does not mention ${unknown}`
}

function hasPiece(words: string, piece: string): boolean {
  return new RegExp(`(?<![a-z0-9])${piece.replace(/[^a-z0-9]/g, '\\$&')}(?![a-z0-9])`).test(words)
}

/** Whether "starts with", "ends in" and "contains" match the positions of the stars. */
function sideAgrees(words: string, pattern: string): boolean {
  const starts =
    /\b(?:start(?:s|ed)?|starting(?! (?:from|at|in))|begin(?:s|ning)?(?! (?:from|at|in))|prefix\w*|preced\w*)\b/i.test(
      words,
    )
  const ends = /\bend(?:s|ed|ing)?\b|\b(?:extensions?|suffix\w*)\b/i.test(words)
  const contains =
    /\b(?:contain\w*|includ\w*|match\w*|in (?:the|their|its|it) ?names?|having|has|have|with|substring|anywhere|string|pattern)\b/i.test(
      words,
    )
  const [open, close] = [pattern.startsWith('*'), pattern.endsWith('*')]
  const inner = pattern.replace(/^\*|\*$/g, '')
  if (/[*?[]/.test(inner)) return false
  if (open && close) return contains && !starts && !ends && /\bnames?\b|\bfilenames?\b|called|titled/i.test(words)
  if (close) return starts && !ends
  if (!open) return !starts && !contains && !(ends && !/extension/i.test(words))
  // `*.py`: "py files", ".py files", "ending in .py"; `*foo`: only an explicit ending.
  return inner.startsWith('.') ? !starts && !/\bcontain\w*\b/i.test(words) : ends && !starts
}
