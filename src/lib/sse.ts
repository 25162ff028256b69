/** Thrown when one event of a stream is longer than allowed. */
export class EventTooLong extends Error {}

/**
 * Reads server-sent events from bytes split anywhere: calls `onEvent` with the data of each. Names, ids and comments
 * are skipped. Bytes that are not UTF-8 become replacement characters.
 */
export function makeEventReader(
  onEvent: (data: string) => void,
  limitChars = 8 * 1024 * 1024,
): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder('utf-8')
  /** Of a line whose end has not come, piece by piece: joined for every piece, a long one would take time by the square of its length. */
  let pieces: string[] = []
  let waiting = 0
  let held = ''
  let data: string[] = []
  let chars = 0
  const readLine = (line: string) => {
    if (line === '') {
      if (data.length > 0) onEvent(data.join('\n'))
      data = []
      chars = 0
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line.charCodeAt(5) === 32 ? 6 : 5))
      chars += line.length
    }
  }
  return (bytes) => {
    const all = held + decoder.decode(bytes, { stream: true })
    // A return at the very end may be the first half of a line's end.
    held = all.endsWith('\r') ? '\r' : ''
    const text = all.slice(0, all.length - held.length)
    let from = 0
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      readLine(pieces.join('') + text.slice(from, index))
      pieces = []
      waiting = 0
      from = index + end.length
    }
    pieces.push(text.slice(from))
    waiting += text.length - from
    if (waiting + chars > limitChars) throw new EventTooLong(`one event is longer than ${limitChars} characters`)
  }
}
