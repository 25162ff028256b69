/**
 * Makes untrusted text safe for a terminal: nothing in it moves the cursor, rings, hides or reverses text. Line breaks
 * and tabs stay; every other invisible character becomes its escape, `\x1b` for example.
 */
export function visible(text: string): string {
  return text.replace(unseen, (sign) => {
    const code = sign.codePointAt(0) ?? 0
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
  })
}

/** The same for JSON: it parses to the same value, and only line breaks between values stay. */
export function visibleJson(json: string): string {
  return json.replace(unseen, (sign) =>
    Array.from({ length: sign.length }, (_, i) => `\\u${sign.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  )
}

/** Control, format, private and lone surrogate characters and the odd line breaks; emoji need their joiner. */
const unseen = /(?![\n\t\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Surrogate}\p{Zl}\p{Zp}]/gu

/** Text that may come from a hostile task or agent, without line breaks or anything a terminal would interpret. */
export function oneLine(text: string): string {
  return plainWords.test(text) ? text : visible(text.replace(/[\s\p{Cc}]+/gu, ' ').trim())
}

/** Most names and numbers: nothing in them needs escaping. */
const plainWords = /^[!-~]+(?: [!-~]+)*$/

/** A program's output without its colors, which `visible` would escape. */
export function withoutColors(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are escape sequences
  return text.replace(/\x1b\[[0-9;:]*m/g, '')
}
