/** Thrown when one event of a stream is longer than allowed. */
export class EventTooLong extends Error {}

/**
 * Reads server-sent events from bytes cut anywhere: calls `onEvent` with the data of each. Names, ids and comments are
 * passed over. Bytes that are no UTF-8 become replacement characters.
 */
export function makeEventReader(
  onEvent: (data: string) => void,
  limitChars = 8 * 1024 * 1024,
): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder('utf-8')
  let rest = ''
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
    const text = rest + decoder.decode(bytes, { stream: true })
    // A return at the very end may be the first half of a line's end.
    const end = text.endsWith('\r') ? text.length - 1 : text.length
    const lineEnd = /\r\n|\n|\r/g
    // What was looked through before holds no end of a line: an event without one must not be read from its start again and again.
    lineEnd.lastIndex = rest.endsWith('\r') ? rest.length - 1 : rest.length
    let from = 0
    for (let match = lineEnd.exec(text); match && match.index < end; match = lineEnd.exec(text)) {
      readLine(text.slice(from, match.index))
      from = lineEnd.lastIndex
    }
    rest = text.slice(from)
    if (rest.length + chars > limitChars) throw new EventTooLong(`one event is longer than ${limitChars} characters`)
  }
}
