import type { ViewStep } from '../../src/core/view.ts'

/** A recording in asciicast version 2, with long silences shortened. */
export interface CastFile {
  readonly cols: number
  readonly rows: number
  readonly startedAt: number | null
  readonly events: readonly CastEvent[]
  /** What was typed, used to find turns. */
  readonly inputs: readonly { readonly at: number; readonly data: string }[]
  readonly length: number
}

export interface CastEvent {
  readonly at: number
  /** The time in the recording, silences included. */
  readonly realAt: number
  readonly kind: 'o' | 'r'
  readonly data: string
}

/** Longer silences in the recording are cut to this in the replay. */
const longestSilence = 2

/** Reads as much of a recording as it can; null if the text is not one. */
export function parseCast(text: string): CastFile | null {
  const lines = text.split('\n')
  const head = parsed(lines[0] ?? '') as Readonly<Record<string, unknown>> | null
  if (head === null || head.version !== 2) return null
  const events: CastEvent[] = []
  const inputs: { at: number; data: string }[] = []
  let shown = 0
  let before = 0
  for (const row of lines.slice(1)) {
    const event = row === '' ? null : parsed(row)
    if (!Array.isArray(event)) continue
    const [realAt, kind, data] = event as unknown[]
    if (typeof realAt !== 'number' || typeof data !== 'string') continue
    shown += Math.min(longestSilence, Math.max(0, realAt - before))
    before = Math.max(before, realAt)
    if (kind === 'i') inputs.push({ at: shown, data })
    if (kind === 'o' || (kind === 'r' && /^\d{1,3}x\d{1,3}$/.test(data))) events.push({ at: shown, realAt, kind, data })
  }
  const size = (value: unknown, usual: number) =>
    typeof value === 'number' ? Math.min(500, Math.max(2, Math.floor(value))) : usual
  const startedAt = typeof head.timestamp === 'number' ? head.timestamp : null
  return { cols: size(head.width, 80), rows: size(head.height, 24), startedAt, events, inputs, length: shown }
}

/** When each turn typed its first command: found by its keystrokes, or by the clock if none were recorded. */
export function turnTimes(file: CastFile, steps: readonly ViewStep[]): { turn: number; at: number }[] {
  const times: { turn: number; at: number }[] = []
  let from = 0
  for (const step of steps) {
    const text = step.calls.find(({ keystrokes }) => keystrokes)?.text.text ?? ''
    const fits = (data: string) => data !== '' && (text.startsWith(data) || data.startsWith(text))
    const found = text === '' ? -1 : file.inputs.findIndex(({ data }, i) => i >= from && fits(data))
    if (found < 0) continue
    from = found + 1
    times.push({ turn: step.number, at: file.inputs[found]?.at ?? 0 })
  }
  return times.length > 0 ? times : byClock(file, steps)
}

function byClock({ startedAt, events }: CastFile, steps: readonly ViewStep[]): { turn: number; at: number }[] {
  if (startedAt === null) return []
  return steps.flatMap(({ number, source, timestamp }) => {
    const second = timestamp === null ? Number.NaN : Date.parse(timestamp) / 1000 - startedAt
    const event = source === 'agent' ? events.find(({ realAt }) => realAt >= second) : undefined
    return event ? [{ turn: number, at: event.at }] : []
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
