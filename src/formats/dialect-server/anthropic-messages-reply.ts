import { jsonObject } from './read-request.ts'
import type { ServedCall, ServedReply, Stamp, StreamWriter, WireEvent } from './server-dialect.ts'

type Block = Readonly<Record<string, unknown>>

/** A complete message. */
export function renderReply(_: ServedCall, reply: ServedReply, stamp: Stamp): Record<string, unknown> {
  const text: Block[] = reply.text === '' && reply.toolCalls.length > 0 ? [] : [{ type: 'text', text: reply.text }]
  return {
    ...head(stamp),
    content: [...thoughts(reply), ...text, ...callBlocks(reply)],
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: usageOf(reply),
  }
}

/**
 * A message as a stream of named events, block by block. Signed thoughts are sent whole, because the signature covers
 * all of a thought.
 */
export function makeStream(_: ServedCall, stamp: Stamp): StreamWriter {
  let signed: readonly Block[] = []
  let index = -1
  let open: 'thinking' | 'text' | null = null
  const delta = (fields: object) => event('content_block_delta', { index, delta: fields })
  const close = (): WireEvent[] => {
    if (open === null) return []
    open = null
    return [event('content_block_stop', { index })]
  }
  const begin = (which: 'thinking' | 'text', block: Block): WireEvent[] => {
    if (open === which) return []
    const closing = close()
    open = which
    index++
    return [...closing, event('content_block_start', { index, content_block: block })]
  }
  const whole = (block: Block, deltas: readonly object[]): WireEvent[] => {
    index++
    return [
      event('content_block_start', { index, content_block: block }),
      ...deltas.map(delta),
      event('content_block_stop', { index }),
    ]
  }
  return {
    start: (known) => {
      signed = known ? signedThoughts(known) : []
      // Unknown counts are sent at the end.
      const usage = { ...(known ? usageOf(known) : noUsage), output_tokens: 1 }
      const message = { ...head(stamp), content: [], stop_reason: null, stop_sequence: null, usage }
      return [event('message_start', { message }), ...signed.flatMap((block) => whole(...inDeltas(block)))]
    },
    reasoning: (thinking) => {
      if (signed.length > 0) return []
      const begun = begin('thinking', { type: 'thinking', thinking: '', signature: '' })
      return [...begun, delta({ type: 'thinking_delta', thinking })]
    },
    text: (text) => [...begin('text', { type: 'text', text: '' }), delta({ type: 'text_delta', text })],
    end: (reply) => [
      ...close(),
      ...callBlocks(reply).flatMap((block) => whole(...inDeltas(block))),
      event('message_delta', { delta: { stop_reason: stopReason(reply), stop_sequence: null }, usage: usageOf(reply) }),
      event('message_stop', {}),
    ],
  }
}

function event(type: string, fields: object): WireEvent {
  return { name: type, data: JSON.stringify({ type, ...fields }) }
}

/** A block as an empty start and its deltas. */
function inDeltas(block: Block): [start: Block, deltas: object[]] {
  if (block.type === 'tool_use')
    return [{ ...block, input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]]
  if (block.type !== 'thinking') return [block, []]
  const { thinking, signature } = block
  return [
    { type: 'thinking', thinking: '', signature: '' },
    [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ],
  ]
}

function head({ id, model }: Stamp): Record<string, unknown> {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model }
}

/** Unsigned thoughts get an empty signature, which only a server that never signs accepts back. */
function thoughts(reply: ServedReply): readonly Block[] {
  const signed = signedThoughts(reply)
  if (signed.length > 0 || reply.reasoning === null) return signed
  return [{ type: 'thinking', thinking: reply.reasoning, signature: '' }]
}

function signedThoughts({ reasoningBlocks = [] }: ServedReply): readonly Block[] {
  return reasoningBlocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
}

function callBlocks({ toolCalls }: ServedReply): Block[] {
  return toolCalls.map(({ id, name, arguments: text }) => ({ type: 'tool_use', id, name, input: jsonObject(text) }))
}

function stopReason({ finish }: ServedReply): string {
  return { stop: 'end_turn', length: 'max_tokens', 'content-filter': 'refusal', 'tool-calls': 'tool_use' }[finish]
}

const noUsage = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** This API counts cached input separately from the rest. */
function usageOf({ usage }: ServedReply): Record<string, number> {
  const { inputTokens, cacheTokens, cacheWriteTokens = 0, outputTokens } = usage
  return {
    input_tokens: Math.max(0, inputTokens - cacheTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheTokens,
    output_tokens: outputTokens,
  }
}
