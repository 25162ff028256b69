import type { Search } from './contents.ts'

/** A text that `sed -i` replaces with another. */
export interface Replacement {
  readonly from: string
  readonly to: string
}

const plain = /^[\w .,:=@-]+$/

/** Reads `sed -i s/a/b/g` followed by files; null if it does more than replace a text everywhere. */
export function readReplacement(words: readonly string[]): Replacement | null {
  const [program, ...args] = words.filter((word) => word !== '{}')
  const [script, ...rest] = args.filter((word) => word !== '-i' && word !== '-e' && word !== '--in-place')
  if (
    program !== 'sed' ||
    script === undefined ||
    rest.length > 0 ||
    !args.some((word) => word === '-i' || word === '--in-place')
  )
    return null
  const [, mark = '', from = '', to = ''] = /^s([/#|,@:])(.+?)\1(.*?)\1g$/.exec(script) ?? []
  const text = from.replace(/\\([./])/g, '$1')
  return plain.test(text) && plain.test(to.replace(/\\([./])/g, '$1')) && !text.includes(mark) && text !== to
    ? { from: text, to: to.replace(/\\([./])/g, '$1') }
    : null
}

/** The request says what to replace, and with what, in this order. */
export function replacementAgrees(words: string, { from, to }: Replacement): boolean {
  const [first, second] = [from, to].map((text) => `["']?${text.replace(/\W/g, '\\$&')}["']?`)
  return new RegExp(
    `\\b(?:replac\\w*|substitut\\w*|chang\\w*)\\b.*?(?<![\\w.])${first}(?![\\w]).*?\\b(?:with|by|to|into)\\b (?:the )?(?:string |word |text )?${second}(?!\\w)`,
    'i',
  ).test(words)
}

/** The text as something to put into files. */
export const asSearch = ({ from }: Replacement): Search => ({
  text: from,
  anchor: 'none',
  ignoresCase: false,
  namesOnly: false,
})
