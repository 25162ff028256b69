import type { ChatMessage, ToolCall, ToolDefinition } from '../../core/model.ts'
import { UnusableSession } from './session.ts'

/** An object with any fields. */
export type Fields = Readonly<Record<string, unknown>>

/** A value's fields; empty if it is not an object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** A value's items; empty if it is not a list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A non-empty string; null for anything else. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A number; null for anything else. */
export function numberOrNull(value: unknown): number | null {
  const number = typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** A message's text: a string, or text parts. Images make a session unusable, because text alone would hide them. */
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

/** A tool call in OpenAI format, possibly without its wrapper. */
export function callOf(value: unknown, fallbackId: string): ToolCall {
  const { id, function: inner } = fieldsOf(value)
  const { name, arguments: args } = fieldsOf(inner ?? value)
  return { id: textOrNull(id) ?? fallbackId, name: textOrNull(name) ?? 'unknown', arguments: argumentsOf(args) }
}

/** A call's arguments as the model wrote them, or as JSON. */
export function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? '{}' : JSON.stringify(value)
}

/** Tools in OpenAI's or Anthropic's format, or as a flat list. */
export function toolsOf(value: unknown): ToolDefinition[] {
  return itemsOf(value).flatMap((item) => {
    const { name, description, parameters, input_schema: schema } = fieldsOf(fieldsOf(item).function ?? item)
    if (typeof name !== 'string') return []
    return [{ name, description: textOrNull(description) ?? '', parameters: fieldsOf(parameters ?? schema) }]
  })
}

/** A model's reply; empty fields are left out. */
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
