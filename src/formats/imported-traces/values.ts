import type { ChatMessage, ToolCall, ToolDefinition } from '../../core/model.ts'
import { UnusableSession } from './session.ts'

/** An object of any fields; empty for anything else. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields of a value; none when it is no object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The items of a value; none when it is no list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that is not empty; null for anything else. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A number; null for anything else. */
export function numberOrNull(value: unknown): number | null {
  const number = typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** The text of a message: a string, or parts of text. Pictures make a session unusable, because a text would hide them. */
export function contentOf(content: unknown): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return textOrNull(fieldsOf(content).text) ?? JSON.stringify(content)
  return content.map(partOf).join('\n')
}

function partOf(part: unknown): string {
  if (typeof part === 'string') return part
  const { type, text } = fieldsOf(part)
  if (typeof text === 'string') return text
  if (typeof type === 'string' && /image|audio|video|document/.test(type))
    throw new UnusableSession('images', `a message has a part of type ${type}`)
  return JSON.stringify(part) ?? ''
}

/** A call of a tool in the spelling of OpenAI, possibly without its wrapping. */
export function callOf(value: unknown, fallbackId: string): ToolCall {
  const { id, function: inner } = fieldsOf(value)
  const { name, arguments: args } = fieldsOf(inner ?? value)
  return { id: textOrNull(id) ?? fallbackId, name: textOrNull(name) ?? 'unknown', arguments: argumentsOf(args) }
}

/** Arguments of a call as the model wrote them, or as JSON. */
export function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? '{}' : JSON.stringify(value)
}

/** Tools as OpenAI, Anthropic or a flat list spells them. */
export function toolsOf(value: unknown): ToolDefinition[] {
  return itemsOf(value).flatMap((item) => {
    const { name, description, parameters, input_schema: schema } = fieldsOf(fieldsOf(item).function ?? item)
    if (typeof name !== 'string') return []
    return [{ name, description: textOrNull(description) ?? '', parameters: fieldsOf(parameters ?? schema) }]
  })
}

/** A reply of a model; fields without content are left out. */
export function reply(content: string, reasoning: string | null, toolCalls: readonly ToolCall[]): ChatMessage {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== null && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  }
}

/** What a call returned. */
export function toolResult(content: string, toolCallId: string | null): ChatMessage {
  return { role: 'tool', content, ...(toolCallId !== null && { toolCallId }) }
}
