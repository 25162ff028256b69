import type { Look } from '../../lib/terminal/look.ts'
import type { Run } from './run.ts'

/** What the model sees of the terminal. */
export async function observe({
  session,
  settings,
  limits,
}: Pick<Run, 'session' | 'settings' | 'limits'>): Promise<string> {
  const look = settings.observations === 'lines' ? await session.look() : await session.lookAtPane()
  const text = settings.observations === 'compact' ? look.text.replace(/^\n+|\n+$/g, '') : look.text
  return renderLook({ ...look, text }, limits.observationBytes)
}

/** A terminal view with its heading; if it is long, only both ends. */
function renderLook({ kind, text }: Look, limitBytes: number): string {
  return limitOutput(`${kind === 'new' ? 'New Terminal Output:' : 'Current Terminal Screen:'}\n${text}`, limitBytes)
}

/** Keeps both ends of a long text; characters cut in two are left out. */
export function limitOutput(text: string, limit: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= limit) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return text
  let headEnd = Math.floor(limit / 2)
  let tailStart = bytes.length - headEnd
  while (isInside(bytes, headEnd)) headEnd--
  while (isInside(bytes, tailStart)) tailStart++
  const head = bytes.toString('utf8', 0, headEnd)
  const tail = bytes.toString('utf8', tailStart)
  return `${head}\n[... output limited to ${limit} bytes; ${tailStart - headEnd} interior bytes omitted ...]\n${tail}`
}

/** Whether this byte is in the middle of a character. */
function isInside(bytes: Buffer, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80
}
