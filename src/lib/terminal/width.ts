import type { IUnicodeVersionProvider } from '@xterm/headless'

/** No real script has more marks than this on one letter; each further mark gets its own cell. */
const mostMarks = 32

/**
 * How many columns a character takes, by current Unicode: emoji are wide, marks join the letter before them. The number
 * of marks is kept in the join state, so that no cell holds an endless text.
 */
export const unicodeWidths: IUnicodeVersionProvider = {
  version: 'ot-agent',
  wcwidth,
  charProperties(codepoint, preceding) {
    const width = wcwidth(codepoint)
    const before = (preceding >> 1) & 3
    const marks = (preceding >> 3) + 1
    if (width > 0 || before === 0) return width << 1
    return marks > mostMarks ? 1 << 1 : (marks << 3) | (before << 1) | 1
  },
}

function wcwidth(codepoint: number): 0 | 1 | 2 {
  if (codepoint < 0x300) return codepoint < 0x20 || (codepoint >= 0x7f && codepoint < 0xa0) ? 0 : 1
  const known = widths.get(codepoint)
  if (known !== undefined) return known
  const width = lookUp(codepoint)
  if (widths.size < 65_536) widths.set(codepoint, width)
  return width
}

const widths = new Map<number, 0 | 1 | 2>()

function lookUp(codepoint: number): 0 | 1 | 2 {
  const char = String.fromCodePoint(codepoint)
  // Conjoining vowels and finals of Hangul are letters, but are drawn into the syllable before them.
  if (/[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u.test(char) && codepoint !== 0xad) return 0
  return /\p{Emoji_Presentation}/u.test(char) || wide.some(([from, to]) => codepoint >= from && codepoint <= to) ? 2 : 1
}

/** East Asian wide and fullwidth blocks. */
const wide: readonly (readonly [from: number, to: number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18dff],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f265],
  [0x20000, 0x3fffd],
]
