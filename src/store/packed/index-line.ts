import { z } from 'zod'
import { parseJson } from '../../lib/parse-json.ts'

const whole = z.number().int().nonnegative()
/** The same rule as in the Harbor layout, because these become directory names. */
const trial = z.string().regex(/^[^./\\\0][^/\\\0]*$/)

/** Where a trial's gzip member lies, and the hash of its bytes. */
const member = { trial, segment: whole, offset: whole, length: whole, sha256: z.string() }
/** Where the line's batch begins: lines of one batch became durable together. */
const batch = whole

const lineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('trial'), batch, ...member }),
  z.object({ kind: z.literal('failed-try'), batch, ...member, nth: z.number().int().positive() }),
  z.object({ kind: z.literal('forget'), batch, trial }),
])

/**
 * One line of index.jsonl: a trial was committed (its record follows in the line), one of its tries was set aside, or
 * it was retracted.
 */
export type IndexLine = z.output<typeof lineSchema>
export type Member = z.output<z.ZodObject<typeof member>>

const headSchema = z.object({ schema: z.literal('packed/1'), compression: z.literal('gzip') })

/** The first line of index.jsonl. */
export const headLine = `${JSON.stringify({ schema: 'packed/1', compression: 'gzip' } satisfies z.output<typeof headSchema>)}\n`

/** Whether a text is the first line of an index that this version can read. */
export function isHead(text: string): boolean {
  return headSchema.safeParse(parseJson(text)).success
}

/** A quote inside a name is escaped, so the record begins at the first match. */
const recordKey = ',"record":'
const closingBrace = 0x7d

/**
 * Parses an index line without its record, which costs ten times as much; null when the bytes are not a line. Crash
 * damage to a record still shows: the line is cut short or contains zeros.
 */
export function parseIndexLine(line: Buffer): IndexLine | null {
  if (line.at(-1) !== closingBrace || line.includes(0)) return null
  const usual = usualLine(line, 0, line.length)
  if (usual !== null) return usual
  const end = line.indexOf(recordKey)
  const text = end < 0 ? line.toString('utf8') : `${line.toString('utf8', 0, end)}}`
  const parsed = lineSchema.safeParse(parseJson(text))
  return parsed.success && (parsed.data.kind === 'trial') === end >= 0 ? parsed.data : null
}

const number = '(0|[1-9][0-9]{0,14})'
const usualPattern = new RegExp(
  `^\\{"kind":"trial","batch":${number},"trial":"(\\w[\\w.-]*)","segment":${number},"offset":${number},"length":${number},"sha256":"(\\w*)"${recordKey}`,
)
/** Enough for what precedes a record, for a trial name of usual length. */
const usualBytes = 400

/**
 * Parses an index line at a position in bytes without zeros. Nearly all lines look the way we write them and can be
 * read directly at a fraction of the cost of parsing. Null for any other line.
 */
export function usualLine(bytes: Buffer, from: number, to: number): IndexLine | null {
  if (bytes[to - 1] !== closingBrace) return null
  const match = usualPattern.exec(bytes.toString('latin1', from, Math.min(to, from + usualBytes)))
  if (match === null) return null
  return {
    kind: 'trial',
    batch: Number(match[1]),
    trial: match[2] ?? '',
    segment: Number(match[3]),
    offset: Number(match[4]),
    length: Number(match[5]),
    sha256: match[6] ?? '',
  }
}

/** The text of the record in a line. */
export function recordTextIn(line: Buffer): string {
  return line.toString('utf8', line.indexOf(recordKey) + recordKey.length, line.length - 1)
}

/** The text of a line. The record is passed as text because it was already rendered without secrets. */
export function renderIndexLine(line: IndexLine, recordText: string | null): string {
  const text = JSON.stringify(line)
  return recordText === null ? `${text}\n` : `${text.slice(0, -1)}${recordKey}${recordText}}\n`
}
