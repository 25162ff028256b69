import { z } from 'zod'
import type { ModelReply } from '../../core/model.ts'
import { readJson } from '../../lib/parse-json.ts'
import {
  dataEvent,
  type ServedCall,
  type ServedReply,
  type Stamp,
  type StreamWriter,
  type WireEvent,
} from './server-dialect.ts'

/** A complete chat completion. */
export function renderReply(call: ServedCall, reply: ServedReply, stamp: Stamp): Record<string, unknown> {
  const message = {
    role: 'assistant',
    content: reply.text === '' && reply.toolCalls.length > 0 ? null : reply.text,
    ...(reply.reasoning !== null && { reasoning_content: reply.reasoning }),
    ...(reply.toolCalls.length > 0 && { tool_calls: renderCalls(call, reply) }),
  }
  return {
    ...chatHead(stamp, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finishReason(reply.finish), ...tokenFields(reply) }],
    usage: chatUsage(reply),
    ...(reply.tokens?.promptIds && { prompt_token_ids: reply.tokens.promptIds }),
  }
}

/** A chat completion in chunks. */
export function makeStream(call: ServedCall, stamp: Stamp): StreamWriter {
  const head = chatHead(stamp, 'chat.completion.chunk')
  const chunk = (delta: object, more: object = { finish_reason: null }, top: object = {}): WireEvent =>
    dataEvent({ ...head, choices: [{ index: 0, delta, ...more }], ...top })
  let idsTold = false
  const promptIds = (reply: ServedReply | null): object => {
    if (idsTold || !reply?.tokens?.promptIds) return {}
    idsTold = true
    return { prompt_token_ids: reply.tokens.promptIds }
  }
  return {
    start: (known) => [chunk({ role: 'assistant', content: '' }, undefined, promptIds(known))],
    reasoning: (piece) => [chunk({ reasoning_content: piece })],
    text: (piece) => [chunk({ content: piece })],
    end: (reply) => [
      ...renderCalls(call, reply).map((one, index) => chunk({ tool_calls: [{ index, ...one }] })),
      chunk({}, { finish_reason: finishReason(reply.finish), ...tokenFields(reply) }, promptIds(reply)),
      ...(call.shape.streamUsage ? [dataEvent({ ...head, choices: [], usage: chatUsage(reply) })] : []),
      { data: '[DONE]' },
    ],
  }
}

/** The fields that every chat completion document starts with. */
function chatHead({ id, createdSec, model }: Stamp, object: string): Record<string, unknown> {
  return { id: `chatcmpl-${id}`, object, created: createdSec, model }
}

function renderCalls({ shape }: ServedCall, { toolCalls }: ServedReply): Record<string, unknown>[] {
  return toolCalls.map(({ id, name, arguments: text }) => {
    if (!shape.textTools.includes(name)) return { id, type: 'function', function: { name, arguments: text } }
    return { id, type: 'custom', custom: { name, input: plainInput(text) } }
  })
}

/** The text input of a text tool, from the object the model wrote. */
export function plainInput(text: string): string {
  try {
    const { input } = z.object({ input: z.string() }).parse(readJson(text))
    return input
  } catch {
    return text
  }
}

function finishReason(finish: ModelReply['finish']): string {
  return { stop: 'stop', length: 'length', 'content-filter': 'content_filter', 'tool-calls': 'tool_calls' }[finish]
}

function chatUsage({ usage }: ServedReply): Record<string, unknown> {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheTokens },
  }
}

/** Token ids and log probabilities of the reply, if known. */
function tokenFields({ tokens }: ServedReply): Record<string, unknown> {
  return {
    logprobs: tokens?.logprobs
      ? { content: tokens.logprobs.map((logprob) => ({ token: '', logprob, bytes: null, top_logprobs: [] })) }
      : null,
    ...(tokens?.completionIds && { token_ids: tokens.completionIds }),
  }
}
