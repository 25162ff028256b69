import type { ViewDataRow } from '../../core/view-data.ts'
import { messageColumns, messagesOf, pairColumns, type RowRecord, renderValue } from './messages.ts'

/** What a list of rows shows and filters by; null where the dataset does not say. */
export interface RowFacts extends Omit<ViewDataRow, 'number'> {
  readonly job: string | null
  readonly trial: string | null
  /** The first question, up to a length. */
  readonly question: string
}

/** The columns that facts and texts are made of. */
export const factColumns: readonly string[] = [
  ...new Set([...messageColumns, ...pairColumns]),
  ...['id', 'uuid', 'name', 'task', 'source', 'dataset', 'result', 'reward', 'model', 'agent', 'job', 'trial_name'],
  ...['turns', 'system', 'fields', 'tool_calls', 'reasoning'],
]

/** Of a row: its facts, and everything that was said in it, in UTF-8, which the next call writes over. */
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

/** Memory of a text that is not garbage after each row: the collector learns of it late, and lets hundreds of megabytes pile up. */
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
  // A slice of a long text would keep all of it.
  return Buffer.from((typeof value === 'object' ? renderValue(value) : String(value)).slice(0, 300)).toString()
}

/** How a text begins, in one line. */
export function beginningOf(text: string): string {
  const line = text.slice(0, 600).replace(/\s+/g, ' ').trim().slice(0, 200)
  // A slice of a long text would keep all of it.
  return Buffer.from(line).toString()
}
