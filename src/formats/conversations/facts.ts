import type { ViewDataRow } from '../../core/view-data.ts'
import { messageColumns, messagesOf, pairColumns, type RowRecord, renderValue } from './messages.ts'

/** What a list of rows shows and filters by; null if the dataset does not say. */
export interface RowFacts extends Omit<ViewDataRow, 'number'> {
  readonly job: string | null
  readonly trial: string | null
  /** The first question, cut to a maximum length. */
  readonly question: string
}

/** The columns from which facts and texts are made. */
export const factColumns: readonly string[] = [
  ...new Set([...messageColumns, ...pairColumns]),
  ...['id', 'uuid', 'name', 'task', 'source', 'dataset', 'result', 'reward', 'model', 'agent', 'job', 'trial_name'],
  ...['turns', 'system', 'fields', 'tool_calls', 'reasoning'],
]

/** A row's facts, and all its text in UTF-8 in a buffer that the next call overwrites. */
export function scanRow(row: RowRecord): { readonly facts: RowFacts; readonly text: Uint8Array } {
  const messages = messagesOf(row)
  const parts = messages.flatMap(({ reasoning, content, calls }) => [
    ...(reasoning === null ? [] : [reasoning]),
    content,
    ...calls.map((call) => `${call.name} ${call.arguments}`),
  ])
  const said = messages.length === 0 && row.fields !== undefined ? asText(row.fields) : parts.join('\n')
  const text = inUtf8(said)
  const asked = messages.find(({ role }) => role === 'user')?.content ?? said
  const spoken = messages.filter(({ role }) => role === 'assistant').length
  return {
    text,
    facts: {
      id: stringOf(row.id ?? row.uuid),
      task: stringOf(row.task ?? row.name),
      source: stringOf(row.source ?? row.dataset),
      result: stringOf(row.result ?? row.reward),
      model: stringOf(row.model),
      agent: stringOf(row.agent),
      job: stringOf(row.job),
      trial: stringOf(row.trial_name),
      turns: typeof row.turns === 'number' || typeof row.turns === 'bigint' ? Number(row.turns) : spoken,
      messages: messages.length,
      tokens: Math.ceil(text.byteLength / 4),
      question: asked.slice(0, mostQuestion),
      begins: beginningOf(asked),
    },
  }
}

/** A reused buffer, because the garbage collector notices such memory late and lets hundreds of megabytes pile up. */
let scratch = Buffer.alloc(1 << 16)
const mostScratch = 1 << 24
const mostQuestion = 16_000

function inUtf8(text: string): Uint8Array {
  const bytes = Buffer.byteLength(text)
  if (bytes > mostScratch) return Buffer.from(text)
  if (bytes > scratch.length) scratch = Buffer.alloc(Math.min(mostScratch, 2 * bytes))
  return scratch.subarray(0, scratch.write(text))
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : renderValue(value)
}

function stringOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null
  // A slice of a long string would keep the whole string in memory.
  return Buffer.from((typeof value === 'object' ? renderValue(value) : String(value)).slice(0, 300)).toString()
}

/** The beginning of a text, on one line. */
export function beginningOf(text: string): string {
  const line = text.slice(0, 600).replace(/\s+/g, ' ').trim().slice(0, 200)
  // A slice of a long string would keep the whole string in memory.
  return Buffer.from(line).toString()
}
