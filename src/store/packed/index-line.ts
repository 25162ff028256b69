import { z } from 'zod'
import { parseJson } from '../../lib/parse-json.ts'

const whole = z.number().int().nonnegative()
/** The rule of the Harbor layout, because these become names of directories. */
const trial = z.string().regex(/^[^./\\\0][^/\\\0]*$/)

/** Where the gzip member of a trial lies, and what its bytes hash to. */
const member = { trial, segment: whole, offset: whole, length: whole, sha256: z.string() }
/** Where the batch begins that the line was written with: lines of one batch became durable together. */
const batch = whole

const lineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('trial'), batch, ...member }),
  z.object({ kind: z.literal('failed-try'), batch, ...member, nth: z.number().int().positive() }),
  z.object({ kind: z.literal('forget'), batch, trial }),
])

/** One line of index.jsonl: a trial was committed (then its record follows in the line), one of its tries was put aside, or it was taken back. */
export type IndexLine = z.output<typeof lineSchema>
export type Member = z.output<z.ZodObject<typeof member>>

const headSchema = z.object({ schema: z.literal('packed/1'), compression: z.literal('gzip') })

/** The first line of index.jsonl. */
export const headLine = `${JSON.stringify({ schema: 'packed/1', compression: 'gzip' } satisfies z.output<typeof headSchema>)}\n`

/** Whether a text is the first line of an index that this version can read. */
export function isHead(text: string): boolean {
  return headSchema.safeParse(parseJson(text)).success
}

/** A quote inside a name is escaped, so the first of these is where the record begins. */
const recordKey = ',"record":'
const closingBrace = 0x7d

/**
 * One line of the index without its record, which costs ten times as much to parse; null when the bytes are none.
 * What a crash can do to a record shows all the same: the line is cut short, or has zeros in it.
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
/** Enough for what stands before a record, with a trial's name of usual length. */
const usualBytes = 400

/**
 * A line of the index at a place in bytes without zeros. Nearly all lines are as we write them: what they say is plain, at a fraction of what
 * parsing takes. Null for every other.
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

/** The text of a line; a record is handed over as text because it was rendered without secrets. */
export function renderIndexLine(line: IndexLine, recordText: string | null): string {
  const text = JSON.stringify(line)
  return recordText === null ? `${text}\n` : `${text.slice(0, -1)}${recordKey}${recordText}}\n`
}
