import type { ChatMessage, ToolCall } from '../../core/model.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { type ImportedConversation, type ImportedSession, session, UnusableSession } from './session.ts'
import {
  argumentsOf,
  contentOf,
  type Fields,
  fieldsOf,
  itemsOf,
  numberOrNull,
  reply,
  textOrNull,
  toolResult,
} from './values.ts'

/**
 * Reads a Codex CLI rollout. Lines are `{type, payload}`; older versions wrote only the payload. What the model saw and
 * said is in `response_item`; `event_msg` repeats it for the screen.
 */
export function readCodex(lines: readonly Fields[]): ImportedSession {
  const transcript = new Transcript()
  let [meta, turn, usage]: [Fields, Fields, Fields] = [{}, {}, {}]
  let asked: string | null = null
  for (const line of lines) {
    const { type, payload, item } = enveloped(line)
    if (type === 'session_meta') {
      meta = Object.keys(meta).length === 0 ? payload : meta
    } else if (type === 'turn_context') turn = payload
    else if (type === 'response_item') transcript.add(item)
    else if (type === 'compacted') transcript.compact(payload)
    else if (type === 'event_msg' && payload.type === 'token_count')
      usage = { ...usage, ...fieldsOf(fieldsOf(payload.info).total_token_usage) }
    else if (type === 'event_msg' && payload.type === 'user_message') asked ??= textOrNull(payload.message)
  }
  const system = textOrNull(fieldsOf(meta.base_instructions).text) ?? textOrNull(meta.instructions)
  const conversations = transcript.conversations(system === null ? [] : [{ role: 'system', content: system }])
  return session('codex', [], {
    conversations,
    model: textOrNull(turn.model) ?? textOrNull(meta.model),
    provider: textOrNull(meta.model_provider) ?? 'openai',
    date: textOrNull(meta.timestamp) ?? textOrNull(lines[0]?.timestamp),
    runId: textOrNull(meta.id),
    instruction: asked ?? firstRequest(conversations[0]),
    inputTokens: numberOrNull(usage.input_tokens),
    outputTokens: numberOrNull(usage.output_tokens),
  })
}

const itemTypes = /^(message|reasoning|function_call|custom_tool_call|local_shell_call|web_search_call)/

function enveloped(line: Fields): { readonly type: unknown; readonly payload: Fields; readonly item: Fields } {
  const payload = fieldsOf(line.payload)
  if (line.payload !== undefined) return { type: line.type, payload, item: payload }
  if (typeof line.type === 'string' && itemTypes.test(line.type)) return { type: 'response_item', payload, item: line }
  return { type: typeof line.id === 'string' ? 'session_meta' : line.type, payload: line, item: line }
}

/** Assembles a rollout's items into messages: consecutive text, thoughts and calls of the model make one reply. */
class Transcript {
  private readonly finished: { messages: ChatMessage[]; copied: number }[] = []
  private messages: ChatMessage[] = []
  private copied = 0
  private readonly said: { texts: string[]; thoughts: string[]; calls: ToolCall[] } = {
    texts: [],
    thoughts: [],
    calls: [],
  }

  add(item: Fields): void {
    const id = textOrNull(item.call_id) ?? textOrNull(item.id) ?? `call-${this.messages.length}`
    const name = textOrNull(item.name) ?? 'unknown'
    if (item.type === 'message') this.message(item)
    else if (item.type === 'reasoning') this.said.thoughts.push(...thoughtsOf(item))
    else if (item.type === 'function_call') this.call({ id, name, arguments: argumentsOf(item.arguments) })
    else if (item.type === 'custom_tool_call') this.call({ id, name, arguments: JSON.stringify({ input: item.input }) })
    else if (item.type === 'local_shell_call')
      this.call({ id, name: 'local_shell', arguments: argumentsOf(item.action) })
    else if (typeof item.type === 'string' && /_call_output$/.test(item.type))
      this.heard(toolResult(outputOf(item.output), textOrNull(item.call_id)))
    // Provider-side searches and new kinds of items: their results are not in the file.
    else if (item.type !== 'ghost_snapshot')
      throw new UnusableSession('unknown-item', `expected items that are known, got ${String(item.type)}`)
  }

  /** From here on the model sees a summary instead of the earlier conversation. */
  compact(payload: Fields): void {
    this.flush()
    const before = this.messages
    this.finished.push({ messages: before, copied: this.copied })
    this.messages = []
    const replacement = itemsOf(payload.replacement_history).map(fieldsOf)
    for (const item of replacement) this.add(item)
    this.flush()
    if (replacement.length === 0) {
      const opening = before.slice(
        0,
        before.findIndex(({ role }) => role === 'assistant'),
      )
      this.messages = [...opening, { role: 'user', content: contentOf(payload.message) }]
    }
    this.copied = this.messages.length
  }

  conversations(system: readonly ChatMessage[]): ImportedConversation[] {
    this.flush()
    return [...this.finished, { messages: this.messages, copied: this.copied }].map(({ messages, copied }) => ({
      source: 'main',
      messages: [...system, ...messages],
      copied: copied === 0 ? 0 : copied + system.length,
    }))
  }

  private message(item: Fields): void {
    const content = contentOf(item.content)
    if (item.role === 'assistant') {
      // A text after a call starts another reply.
      if (this.said.calls.length > 0) this.flush()
      if (content !== '') this.said.texts.push(content)
      return
    }
    this.heard({ role: item.role === 'user' ? 'user' : 'system', content })
  }

  private call(call: ToolCall): void {
    this.said.calls.push(call)
  }

  private heard(message: ChatMessage): void {
    this.flush()
    this.messages.push(message)
  }

  private flush(): void {
    const { texts, thoughts, calls } = this.said
    // Thoughts alone are not a reply; they belong to one that never arrived.
    if (texts.length + calls.length > 0)
      this.messages.push(reply(texts.join('\n\n'), thoughts.join('\n\n') || null, [...calls]))
    this.said.texts.length = 0
    this.said.thoughts.length = 0
    this.said.calls.length = 0
  }
}

/** The text of a thought, or its summary; an encrypted one has neither. */
function thoughtsOf({ content, summary }: Fields): string[] {
  const texts = (parts: unknown) => itemsOf(parts).flatMap((part) => textOrNull(fieldsOf(part).text) ?? [])
  const whole = texts(content)
  return whole.length > 0 ? whole : texts(summary)
}

/** Some versions wrap command output in JSON with its exit code. */
function outputOf(output: unknown): string {
  const parsed = typeof output === 'string' && output.startsWith('{') ? parseJson(output) : output
  const { output: printed, content } = fieldsOf(parsed)
  if (typeof printed === 'string') return printed
  return typeof output === 'string' ? output : contentOf(content ?? output)
}

/** The first user message that was not written by the tool itself. */
function firstRequest(first: ImportedConversation | undefined): string | null {
  const asked = first?.messages.find(
    ({ role, content }) => role === 'user' && !/^\s*(<[a-z_]+>|# AGENTS\.md instructions)/.test(content),
  )
  return asked?.content ?? null
}
