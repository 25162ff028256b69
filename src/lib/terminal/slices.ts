/** The most characters that are parsed at once. */
const sliceChars = 4096
const sliceControls = 128

/** No slice moves more rows than this off a screen of at least `fewestCols` columns. */
export const fewestCols = 40
export const mostRowsPerSlice = Math.ceil(sliceChars / fewestCols) + 2 * sliceControls

/**
 * Where the slice of `text` that starts at `from` ends: it has a limited number of characters and controls, and ends
 * after a line feed if there is one nearby.
 */
export function sliceEnd(text: string, from: number): number {
  const last = Math.min(text.length, from + sliceChars)
  let controls = 0
  let lineEnd = -1
  for (let i = from; i < last; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0x20 && (code < 0x7f || code > 0x9f)) continue
    if (++controls > sliceControls) return lineEnd > from ? lineEnd : i
    if (code === 0x0a) lineEnd = i + 1
  }
  return last < text.length && lineEnd > from ? lineEnd : last
}

/**
 * True when the emulator is certainly not inside an escape sequence after this text, provided that it scrolled because
 * of it.
 */
export function endsInText(slice: string): boolean {
  for (let i = Math.max(0, slice.length - 64); i < slice.length; i++) {
    const code = slice.charCodeAt(i)
    if (code === 0x1b || (code >= 0x80 && code <= 0x9f)) return false
  }
  return true
}
