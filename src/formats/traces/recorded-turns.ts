import { z } from 'zod'
import type { ChatMessage, ToolDefinition } from '../../core/model.ts'
import type { RecordedTurn } from '../../core/replay.ts'
import { parseJson } from '../../lib/parse-json.ts'

const text = z.string()
const index = z.union([z.number(), z.bigint().transform(Number)])
const listOf = <T extends z.ZodType>(item: T) => z.array(item).nullish()

/** The columns needed to replay a conversation; third-party datasets lack those of tools and marks. */
const schema = z.object({
  conversations: z.array(
    z.union([
      z.object({ role: text, content: text.nullish().transform((content) => content ?? '') }),
      z
        .object({ from: text, value: text })
        .transform(({ from, value }) => ({ role: roles[from] ?? from, content: value })),
    ]),
  ),
  tool_calls: listOf(z.object({ message: index, id: text, name: text, arguments: text })),
  tool_results: listOf(z.object({ message: index, id: text })),
  reasoning: listOf(z.object({ message: index, content: text })),
  turn_marks: listOf(z.object({ message: index, mark: text })),
  tool_definitions: text.nullish(),
  trace_source: text.nullish(),
})

const roles: Readonly<Record<string, string>> = {
  human: 'user',
  gpt: 'assistant',
  function_call: 'assistant',
  observation: 'tool',
}

const chat = z.array(
  z.object({
    role: text,
    content: text.nullish(),
    tool_calls: listOf(z.object({ id: text, function: z.object({ name: text, arguments: text }) })),
    tool_call_id: text.nullish(),
  }),
)
const chatRow = z.union([
  z.object({ messages: chat }).transform(({ messages }) => messages),
  z.object({ prompt: chat, completion: chat }).transform(({ prompt, completion }) => [...prompt, ...completion]),
])

/** In rows for chat templates, messages contain their calls and results. */
function withColumns(row: unknown): unknown {
  const tools = Object(row).tool_definitions ?? Object(row).tools
  const parsed = chatRow.safeParse(row)
  if (!parsed.success) return { ...Object(row), tool_definitions: tools }
  return {
    ...Object(row),
    tool_definitions: tools,
    conversations: parsed.data.map(({ role, content }) => ({ role, content })),
    tool_calls: parsed.data.flatMap(({ tool_calls }, message) =>
      (tool_calls ?? []).map(({ id, function: called }) => ({ message, id, ...called })),
    ),
    tool_results: parsed.data.flatMap(({ tool_call_id }, message) =>
      tool_call_id ? [{ message, id: tool_call_id }] : [],
    ),
  }
}

/** Every reply of the model in a row, with the messages before it; a string says why the row cannot be replayed. */
export function recordedTurns(id: string, row: unknown): readonly RecordedTurn[] | string {
  const parsed = schema.safeParse(withColumns(row))
  if (!parsed.success)
    return `its column ${String(parsed.error.issues[0]?.path[0] ?? 'conversations')} is not that of a conversation`
  const { data } = parsed
  const spelt = data.conversations.map(({ role }) => role)
  const unknown = spelt.find((role) => !isRole(role))
  if (unknown !== undefined) return `it has a message of role ${JSON.stringify(unknown.slice(0, 40))}`
  if (!data.tool_results && spelt.includes('tool'))
    return 'calls of tools are part of its texts, not in columns of their own'
  const messages = data.conversations.map((_, i) => messageAt(data, i))
  const tools = toolsIn(data.tool_definitions ?? null)
  const turns: RecordedTurn[] = []
  for (const [i, message] of messages.entries()) {
    const marks = (data.turn_marks ?? []).filter((each) => each.message === i).map(({ mark }) => mark)
    if (message.role !== 'assistant' || marks.includes('context')) continue
    turns.push({
      row: id,
      turn: turns.length + 1,
      source: data.trace_source ?? 'main',
      sent: messages.slice(0, i),
      tools,
      reply: { ...replyIn(message), finish: finishOf(message, marks) },
      usage: null,
    })
  }
  return turns
}

type Row = z.output<typeof schema>

function messageAt({ conversations, tool_calls, tool_results, reasoning }: Row, i: number): ChatMessage {
  const { role = '', content = '' } = conversations[i] ?? {}
  const calls = (tool_calls ?? []).filter(({ message }) => message === i)
  const answers = tool_results?.find(({ message }) => message === i)
  const thought = reasoning?.find(({ message }) => message === i)
  return {
    role: isRole(role) ? role : 'user',
    content: thought ? withoutThoughts(content, thought.content) : content,
    ...(thought && { reasoning: thought.content }),
    ...(calls.length > 0 && {
      toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    }),
    ...(answers && { toolCallId: answers.id }),
  }
}

/** Removes reasoning that was also put before the reply for trainers. */
function withoutThoughts(content: string, reasoning: string): string {
  const inline = `<think>\n${reasoning.trim()}\n</think>\n\n`
  return content.startsWith(inline) ? content.slice(inline.length) : content
}

function replyIn({ content, reasoning, toolCalls }: ChatMessage) {
  return { text: content, reasoning: reasoning ?? null, toolCalls: toolCalls ?? [] }
}

function finishOf({ toolCalls = [] }: ChatMessage, marks: readonly string[]): RecordedTurn['reply']['finish'] {
  if (marks.includes('truncated')) return 'length'
  if (marks.includes('filtered')) return 'content-filter'
  return toolCalls.length > 0 ? 'tool-calls' : 'stop'
}

function isRole(role: string): role is ChatMessage['role'] {
  return role === 'system' || role === 'user' || role === 'assistant' || role === 'tool'
}

const definition = z.object({
  function: z.object({
    name: text,
    description: text.nullish().transform((words) => words ?? ''),
    parameters: z
      .record(z.string(), z.unknown())
      .nullish()
      .transform((schema) => schema ?? {}),
  }),
})

/** Empty if the column is empty; null if it holds anything but definitions. */
function toolsIn(column: string | null): readonly ToolDefinition[] | null {
  if (column === null) return []
  const parsed = z.array(definition).safeParse(parseJson(column))
  return parsed.success ? parsed.data.map((each) => each.function) : null
}
