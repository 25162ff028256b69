import { z } from 'zod'
import type { ChatMessage, ToolCall } from '../../core/model.ts'
import { contentSchema, jsonText, Refused, read, textOf } from './read-request.ts'

type Item = Readonly<Record<string, unknown>> & { readonly type?: string | null | undefined }

/** A request's conversation: consecutive texts, thoughts and calls of the model become one message. */
export function readInput(input: string | readonly Item[]): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const messages: ChatMessage[] = []
  let said = nothingSaid()
  const flush = () => {
    if (said.words.length + said.calls.length + said.thoughts.length > 0) messages.push(spoken(said))
    said = nothingSaid()
  }
  for (const [i, item] of input.entries()) {
    const read = readItem(item, `input.${i}`)
    if ('role' in read) {
      flush()
      messages.push(read)
    } else add(said, read)
  }
  flush()
  return messages
}

/** A message of another role, or a piece of a model message. */
type Piece =
  | { readonly words: string }
  | { readonly call: ToolCall }
  | { readonly thought: Item }
  | { readonly nothing: true }

interface Said {
  readonly words: string[]
  readonly calls: ToolCall[]
  readonly thoughts: Item[]
}

function nothingSaid(): Said {
  return { words: [], calls: [], thoughts: [] }
}

function add({ words, calls, thoughts }: Said, piece: Piece): void {
  if ('words' in piece) words.push(piece.words)
  if ('call' in piece) calls.push(piece.call)
  if ('thought' in piece) thoughts.push(piece.thought)
}

function spoken({ words, calls, thoughts }: Said): ChatMessage {
  const reasoning = thoughts.map(thoughtText).join('\n')
  return {
    role: 'assistant',
    content: words.join('\n'),
    ...(reasoning !== '' && { reasoning }),
    ...(thoughts.length > 0 && { reasoningBlocks: thoughts }),
    ...(calls.length > 0 && { toolCalls: calls }),
  }
}

const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: contentSchema,
})
const callSchema = z.object({
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().nullish(),
  arguments: z.unknown().optional(),
  input: z.string().nullish(),
})
const outputSchema = z.object({ call_id: z.string(), output: contentSchema })

function readItem(item: Item, where: string): ChatMessage | Piece {
  switch (item.type ?? 'message') {
    case 'message':
      return readMessage(item, where)
    case 'function_call':
    case 'custom_tool_call': {
      const { call_id: id, name, namespace, arguments: text, input } = read(callSchema, item)
      return {
        call: { id, name: modelName(name, namespace), arguments: input ? JSON.stringify({ input }) : jsonText(text) },
      }
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id: toolCallId, output } = read(outputSchema, item)
      return { role: 'tool', content: textOf(output, where), toolCallId }
    }
    case 'reasoning':
      return { thought: item }
    case 'item_reference':
      throw new Refused(`${where}: expected the item itself, got a reference; nothing is kept here`, where)
    default:
      throw new Refused(`${where}: an item of type ${item.type} is not understood here`, where)
  }
}

/** The single name by which the model knows a tool that its caller may keep in a namespace. */
export function modelName(name: string, namespace: string | null | undefined): string {
  return namespace ? `${namespace}__${name}` : name
}

function readMessage(item: Item, where: string): ChatMessage | Piece {
  const { role, content } = read(messageSchema, item)
  const text = textOf(content, `${where}.content`)
  if (role === 'assistant') return { words: text }
  return { role: role === 'user' ? 'user' : 'system', content: text }
}

const thoughtSchema = z.object({
  summary: z.array(z.object({ text: z.string() })).nullish(),
  content: z.array(z.object({ text: z.string() })).nullish(),
})

/** The readable part of a thought; the rest is encrypted. */
function thoughtText(item: Item): string {
  const parsed = thoughtSchema.safeParse(item)
  if (!parsed.success) return ''
  const { summary, content } = parsed.data
  const parts = content?.length ? content : (summary ?? [])
  return parts.map(({ text }) => text).join('\n')
}
