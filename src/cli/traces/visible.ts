/**
 * Text of an agent or a task for a terminal: nothing in it moves the cursor, rings, hides or turns round what is written.
 * Line breaks and tabs stay; every other sign that is no letter to look at becomes its escape, `\x1b` for example.
 */
export function visible(text: string): string {
  return text.replace(unseen, (sign) => {
    const code = sign.codePointAt(0) ?? 0
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
  })
}

/** Control, format, private and lone surrogate characters and the odd line breaks; emoji need their joiner. */
const unseen = /(?![\n\t\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Surrogate}\p{Zl}\p{Zp}]/gu
