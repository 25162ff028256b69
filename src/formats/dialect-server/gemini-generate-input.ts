import { z } from 'zod'
import type { ChatMessage, ToolCall } from '../../core/model.ts'
import { Refused } from './read-request.ts'

const partSchema = z.looseObject({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  thoughtSignature: z.string().nullish(),
  functionCall: z.object({ id: z.string().nullish(), name: z.string(), args: z.unknown().optional() }).nullish(),
  functionResponse: z
    .object({ id: z.string().nullish(), name: z.string(), response: z.unknown().optional() })
    .nullish(),
})
type Part = z.output<typeof partSchema>

export const contentSchema = z.object({ role: z.string().nullish(), parts: z.array(partSchema).nullish() })
type Content = z.output<typeof contentSchema>

export function systemText(system: string | Content | null | undefined): string {
  if (!system || typeof system === 'string') return system ?? ''
  return wordsOf(system.parts ?? [], 'systemInstruction')
}

/** The conversation. A call without an id gets one; its result is matched by name, in the order of the calls. */
export function readContents(contents: readonly Content[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  let open: ToolCall[] = []
  let calls = 0
  for (const [i, { role, parts }] of contents.entries()) {
    const where = `contents.${i}`
    if (role === 'model') {
      const spoken = readSpoken(parts ?? [], where, () => `call_${calls++}`)
      open = [...(spoken.toolCalls ?? [])]
      messages.push(spoken)
    } else messages.push(...readHeard(parts ?? [], where, open))
  }
  return messages
}

function readSpoken(parts: readonly Part[], where: string, nextId: () => string): ChatMessage {
  const toolCalls = parts.flatMap(({ functionCall: call, thoughtSignature }): ToolCall[] => {
    if (!call) return []
    const made = { id: call.id || nextId(), name: call.name, arguments: JSON.stringify(call.args ?? {}) }
    return [{ ...made, ...(thoughtSignature && { signature: thoughtSignature }) }]
  })
  const others = parts.filter(({ functionCall }) => !functionCall)
  const reasoning = others.flatMap(({ thought, text }) => (thought && text ? [text] : [])).join('')
  return {
    role: 'assistant',
    content: wordsOf(
      others.filter(({ thought }) => !thought),
      where,
    ),
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  }
}

function readHeard(parts: readonly Part[], where: string, open: ToolCall[]): ChatMessage[] {
  const results = parts.flatMap(({ functionResponse: result }): ChatMessage[] => {
    if (!result) return []
    const place = open.findIndex(({ id, name }) => (result.id ? id === result.id : name === result.name))
    const [call] = place < 0 ? [] : open.splice(place, 1)
    return [{ role: 'tool', content: resultText(result.response), toolCallId: call?.id ?? result.id ?? result.name }]
  })
  const words = parts.filter(({ functionResponse }) => !functionResponse)
  return [...results, ...(words.length > 0 ? [{ role: 'user' as const, content: wordsOf(words, where) }] : [])]
}

/** Callers put a result's text under one of these keys; anything else is rendered as JSON. */
const resultKeys = ['output', 'result', 'error', 'content']

function resultText(response: unknown): string {
  if (typeof response === 'string') return response
  const entries = Object.entries(Object(response))
  const [only] = entries
  if (entries.length === 1 && only && resultKeys.includes(only[0]) && typeof only[1] === 'string') return only[1]
  return JSON.stringify(response ?? {})
}

function wordsOf(parts: readonly Part[], where: string): string {
  return parts
    .map(({ text, thought: _, thoughtSignature: __, ...rest }) => {
      if (typeof text === 'string') return text
      const kinds = Object.keys(rest).filter((key) => rest[key] !== undefined && rest[key] !== null)
      // A signature may come alone, on an empty part.
      if (kinds.length === 0) return ''
      throw new Refused(`${where}: expected text, got ${kinds.join(', ')}; only text is understood here`, where)
    })
    .join('')
}
