import { parseJson } from '../../lib/parse-json.ts'
import { roleNames } from '../sft-dataset/recognize.ts'

/** One row of a dataset: columns by name. */
export type RowRecord = Readonly<Record<string, unknown>>

/** One message of a conversation, whatever its dataset names the parts. */
export interface Message {
  /** system, user, assistant, tool, or the dataset's own word. */
  readonly role: string
  readonly content: string
  readonly reasoning: string | null
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
}

/** Columns that may hold a list of messages, likeliest first. */
export const messageColumns = ['conversations', 'messages', 'conversation', 'prompt', 'completion'] as const

/** Columns that may hold a single question and answer. */
export const pairColumns = ['instruction', 'question', 'prompt', 'input', 'output', 'response', 'completion', 'answer']

/**
 * A row's conversation: a list of messages in ShareGPT or OpenAI format, or an instruction and its answer. Empty if
 * there is neither.
 */
export function messagesOf(row: RowRecord): readonly Message[] {
  const named = messageColumns.slice(0, 3).find((name) => isListOfMessages(row[name]))
  const lists = named === undefined ? [row.prompt, row.completion] : [row[named]]
  const values = lists.flatMap((value) => (isListOfMessages(value) ? asList(value) : []))
  if (values.length > 0) return values.map((value, i) => withColumns(messageOf(value), row, i))
  const asked = ['instruction', 'question', 'prompt', 'input'].flatMap((name) => textIn(row[name]))
  const answered = ['output', 'response', 'completion', 'answer'].flatMap((name) => textIn(row[name])).slice(0, 1)
  const plain = (role: string, content: string): Message => ({ role, content, reasoning: null, calls: [] })
  return [
    ...textIn(row.system).map((text) => plain('system', text)),
    ...(asked.length > 0 ? [plain('user', asked.join('\n\n'))] : []),
    ...answered.map((text) => plain('assistant', text)),
  ]
}

const roles = new Map<string, string>([
  ...roleNames.user_tag.map((name) => [name, 'user'] as const),
  ...roleNames.assistant_tag.map((name) => [name, 'assistant'] as const),
  ...roleNames.system_tag.map((name) => [name, 'system'] as const),
  ...roleNames.observation_tag.map((name) => [name, 'tool'] as const),
  ...roleNames.function_tag.map((name) => [name, 'assistant'] as const),
])

function messageOf(value: unknown): Message {
  if (typeof value === 'string') return { role: 'text', content: value, reasoning: null, calls: [] }
  const message = Object(value) as RowRecord
  const role = String(message.role ?? message.from ?? 'unknown')
  const reasoning = message.reasoning_content ?? message.reasoning
  return {
    role: roles.get(role) ?? role,
    content: contentOf(message.content ?? message.value),
    reasoning: typeof reasoning === 'string' && reasoning !== '' ? reasoning : null,
    calls: asList(message.tool_calls).map((call) => {
      const called = Object(Object(call).function ?? call) as RowRecord
      return { name: String(called.name ?? 'unknown'), arguments: contentOf(called.arguments) }
    }),
  }
}

/** Adds tool calls and reasoning, which our own traces keep in separate columns by message number. */
function withColumns(message: Message, { tool_calls: calls, reasoning }: RowRecord, i: number): Message {
  const own = (column: unknown) => asList(column).filter((each) => Number(Object(each).message) === i) as RowRecord[]
  const thought = own(reasoning).map(({ content }) => String(content ?? ''))
  const made = own(calls).map((call) => ({ name: String(call.name), arguments: String(call.arguments ?? '') }))
  return {
    ...message,
    reasoning: thought.length > 0 ? thought.join('\n') : message.reasoning,
    calls: [...message.calls, ...made],
  }
}

/** A message's text; non-text parts are named. */
function contentOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  if (!Array.isArray(content)) return renderValue(content)
  return content
    .map((part: unknown) => {
      const { text, type } = Object(part) as RowRecord
      return typeof part === 'string' ? part : typeof text === 'string' ? text : `[${String(type ?? 'part')}]`
    })
    .join('\n')
}

function isListOfMessages(value: unknown): boolean {
  return asList(value).some((each) => typeof each === 'object' && each !== null)
}

/** A list, even if stored as JSON text. */
function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  const parsed = typeof value === 'string' && value.startsWith('[') ? parseJson(value) : undefined
  return Array.isArray(parsed) ? parsed : []
}

function textIn(value: unknown): string[] {
  return typeof value === 'string' && value !== '' ? [value] : []
}

/** Any column value as text: database numbers become plain numbers, bytes are only counted. */
export function renderValue(value: unknown, indent?: number): string {
  return JSON.stringify(plainValue(value), null, indent) ?? ''
}

/** A column value that JSON can represent. */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (value instanceof Uint8Array) return `<${value.byteLength} bytes>`
  if (value instanceof Date || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plainValue)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainValue(each)]))
}
