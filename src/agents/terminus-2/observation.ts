import type { Look } from '../../lib/terminal/look.ts'

const limitBytes = 10_000

/** What the model is shown of the terminal. */
export function renderLook({ kind, text }: Look): string {
  return limitOutput(`${kind === 'new' ? 'New Terminal Output:' : 'Current Terminal Screen:'}\n${text}`)
}

/** Keeps both ends of a long text; characters cut in two are left out. */
export function limitOutput(text: string, limit = limitBytes): string {
  // A character takes at most three bytes for each of its units.
  if (text.length * 3 <= limit) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return text
  const half = Math.floor(limit / 2)
  const head = new TextDecoder().decode(bytes.subarray(0, half)).replace(/\ufffd+$/, '')
  const tail = new TextDecoder().decode(bytes.subarray(-half)).replace(/^\ufffd+/, '')
  const omitted = bytes.length - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}\n[... output limited to ${limit} bytes; ${omitted} interior bytes omitted ...]\n${tail}`
}
