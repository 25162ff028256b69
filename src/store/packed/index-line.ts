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

/**
 * One line of the index without its record, which costs ten times as much to parse; null when the text is none.
 * What a crash can do to a record shows all the same: the line is cut short, or has zeros in it.
 */
export function parseIndexLine(text: string): IndexLine | null {
  if (text.includes('\0') || !text.endsWith('}')) return null
  const end = text.indexOf(recordKey)
  const parsed = lineSchema.safeParse(parseJson(end < 0 ? text : `${text.slice(0, end)}}`))
  return parsed.success && (parsed.data.kind === 'trial') === end >= 0 ? parsed.data : null
}

/** The text of the record in a line. */
export function recordTextIn(text: string): string {
  return text.slice(text.indexOf(recordKey) + recordKey.length, -1)
}

/** The text of a line; a record is handed over as text because it was rendered without secrets. */
export function renderIndexLine(line: IndexLine, recordText: string | null): string {
  const text = JSON.stringify(line)
  return recordText === null ? `${text}\n` : `${text.slice(0, -1)}${recordKey}${recordText}}\n`
}
