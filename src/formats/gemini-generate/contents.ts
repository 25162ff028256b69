import type { ChatMessage } from '../../core/model.ts'
import { readJson } from '../../lib/parse-json.ts'

type Part = Record<string, unknown>
interface Content {
  readonly role: 'user' | 'model'
  readonly parts: Part[]
}

/** The conversation as contents of parts, and what was said as `system` apart. */
export function renderContents(messages: readonly ChatMessage[]): {
  systemInstruction: { parts: Part[] } | null
  contents: Content[]
} {
  const contents: Content[] = []
  const system: Part[] = []
  const toolNames = new Map(
    messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)),
  )
  for (const message of messages) {
    if (message.role === 'system') {
      system.push({ text: message.content })
      continue
    }
    const role = message.role === 'assistant' ? 'model' : 'user'
    const parts = partsOf(message, toolNames)
    const last = contents.at(-1)
    // Results of several calls belong in one turn.
    if (last?.role === role) last.parts.push(...parts)
    else contents.push({ role, parts })
  }
  return { systemInstruction: system.length > 0 ? { parts: system } : null, contents }
}

function partsOf(
  { role, content, toolCallId = '', toolCalls = [] }: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
): Part[] {
  if (role === 'tool') {
    return [
      {
        functionResponse: {
          id: toolCallId,
          name: toolNames.get(toolCallId) ?? toolCallId,
          response: { result: content },
        },
      },
    ]
  }
  const calls = toolCalls.map(({ id, name, arguments: text, signature }) => ({
    functionCall: { id, name, args: argumentsOf(text) },
    ...(signature !== undefined && { thoughtSignature: signature }),
  }))
  // A turn must have a part, even an empty one.
  return content !== '' || calls.length === 0 ? [{ text: content }, ...calls] : calls
}

function argumentsOf(text: string): object {
  try {
    const value: unknown = readJson(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Not JSON: handed on as it is.
  }
  return { text }
}
