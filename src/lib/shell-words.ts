/**
 * Splits a command line into words as a shell does, honouring only quotes and backslashes; null when a quote is left
 * open.
 */
export function splitShellWords(text: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  let quote: string | null = null
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    if (quote !== null) {
      if (char === quote) quote = null
      else if (char === '\\' && quote === '"' && /["\\$`]/.test(text.charAt(i + 1))) word += text.charAt(++i)
      else word += char
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (char === '\\' && i + 1 < text.length) {
      word = (word ?? '') + text.charAt(++i)
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + char
  }
  if (quote !== null) return null
  if (word !== null) words.push(word)
  return words
}
