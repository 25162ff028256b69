import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ChatMessage, ModelRequest, ToolCall } from '../../core/model.ts'
import { makeEventReader } from '../../lib/sse.ts'
import { anthropicMessages } from '../anthropic-messages.ts'
import { geminiGenerate } from '../gemini-generate.ts'
import type { Dialect } from '../model-dialect.ts'
import { judgeFault, readFault } from '../model-fault.ts'
import { openaiChat } from '../openai-chat.ts'
import { findRoute } from './routes.ts'
import type { CallAddress, ServedCall, ServedReply, ServerDialect } from './server-dialect.ts'
import { renderAnswer, type WireAnswer } from './wire-answer.ts'

/** Every API for which we have both sides: each side must understand the other. */
const clients: readonly Dialect[] = [
  openaiChat({ reasoningField: 'reasoning_content' }),
  anthropicMessages,
  geminiGenerate,
]
const stamp = { id: 'abc', createdSec: 1_700_000_000, model: 'm' }
const how = { quirks: { maxTokensField: 'max_tokens', dropped: [] }, defaultOutputTokens: 100 } as const

function routeOf(client: Dialect, stream: boolean): { dialect: ServerDialect; address: CallAddress } {
  const url = new URL(client.path('m', stream), 'http://x')
  const route = findRoute(url.pathname, Object.fromEntries(url.searchParams))
  if (!route) throw new Error(`no route for ${url}`)
  return route
}

function served(client: Dialect, request: ModelRequest, stream = false): ServedCall {
  const { dialect, address } = routeOf(client, stream)
  const body: unknown = JSON.parse(JSON.stringify(client.render('m', request, { ...how, stream })))
  const parsed = dialect.parse(body, address)
  if (parsed.kind === 'refused') throw new Error(parsed.fault.message)
  return parsed.call
}

const words = fc.string({ minLength: 1, unit: 'grapheme' })
const name = fc.stringMatching(/^[a-z_]{1,8}$/)
const argumentsText = fc
  .dictionary(name, fc.oneof(words, fc.integer(), fc.boolean()))
  .map((value) => JSON.stringify(value))

/** One exchange: the user asks, the model calls tools, they answer, the model speaks. */
const round = fc.record({
  user: words,
  reasoning: words,
  calls: fc.array(fc.tuple(name, argumentsText, words), { maxLength: 3 }),
  said: words,
})

const conversation = fc
  .tuple(fc.option(words), fc.array(round, { minLength: 1, maxLength: 3 }))
  .map(([system, rounds]) => {
    const messages: ChatMessage[] = system === null ? [] : [{ role: 'system', content: system }]
    for (const [i, { user, calls, said }] of rounds.entries()) {
      messages.push({ role: 'user', content: user })
      if (calls.length > 0) {
        const toolCalls = calls.map(([tool, text], j): ToolCall => ({ id: `c${i}_${j}`, name: tool, arguments: text }))
        messages.push({ role: 'assistant', content: '', toolCalls })
        for (const [j, [, , result]] of calls.entries())
          messages.push({ role: 'tool', content: result, toolCallId: `c${i}_${j}` })
      }
      messages.push({ role: 'assistant', content: said })
    }
    messages.push({ role: 'user', content: 'and now?' })
    return messages
  })

const request: fc.Arbitrary<ModelRequest> = fc
  .record({
    messages: conversation,
    temperature: fc.constantFrom(0, 0.5, 1),
    topP: fc.constantFrom(0.1, 1),
    maxOutputTokens: fc.integer({ min: 1, max: 9999 }),
    stop: fc.array(words, { minLength: 1, maxLength: 2 }),
    tools: fc.array(
      fc.record({
        name,
        description: words,
        parameters: fc.constant({ type: 'object', properties: { a: { type: 'string' } } }),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    toolChoice: fc.oneof(fc.constantFrom('auto' as const, 'none' as const, 'required' as const), fc.record({ name })),
  })
  .map((made) => made)

const call: fc.Arbitrary<ToolCall> = fc.record({
  id: fc.stringMatching(/^[a-z0-9]{1,8}$/),
  name,
  arguments: argumentsText,
})

const reply: fc.Arbitrary<ServedReply> = fc
  .record({
    text: fc.oneof(words, fc.constant('')),
    reasoning: fc.option(words),
    toolCalls: fc.array(call, { maxLength: 3 }),
    length: fc.boolean(),
  })
  .map(({ text, reasoning, toolCalls, length }) => ({
    text,
    reasoning,
    toolCalls,
    finish: length ? 'length' : toolCalls.length > 0 ? 'tool-calls' : 'stop',
    usage: { inputTokens: 100, cacheTokens: 60, outputTokens: 7 },
    tokens: null,
  }))

describe.each(clients.map((client) => [client.name, client] as const))('%s', (_, client) => {
  test('a request arrives as it was asked', () => {
    fc.assert(
      fc.property(request, (asked) => {
        expect(served(client, asked).request).toEqual(asked)
      }),
    )
  })

  test('a reply arrives as it was given, whole or in pieces of any size', () => {
    fc.assert(
      fc.property(reply, fc.option(fc.integer({ min: 1, max: 9 })), (given, pieceChars) => {
        const asked = { messages: [{ role: 'user', content: 'x' }] } as const
        const heard = hear(client, asked, given, pieceChars)
        expect(heard).toMatchObject({ kind: 'reply', reply: { ...given, usage: expect.objectContaining(given.usage) } })
      }),
    )
  })

  test('a stream that is cut is never taken for a reply', () => {
    const given = {
      text: 'some words that matter',
      reasoning: null,
      toolCalls: [],
      finish: 'stop',
      usage: noUsage,
      tokens: null,
    } as const
    const { dialect } = routeOf(client, true)
    const asked = { messages: [{ role: 'user', content: 'x' }] } as const
    const answer = { kind: 'reply', reply: given, spoilt: 'cut', pace: { pieceChars: 3, pieceMs: 0 } } as const
    expect(readStream(client, asked, renderAnswer(dialect, served(client, asked, true), answer, stamp))).toEqual({
      kind: 'cut',
    })
  })

  test('each fault is understood', () => {
    const { dialect } = routeOf(client, false)
    const verdictOf = (kind: Parameters<ServerDialect['renderFault']>[0]['kind']) => {
      const answer = renderAnswer(
        dialect,
        served(client, { messages: [{ role: 'user', content: 'x' }] }),
        { kind: 'fault', fault: { kind, message: 'oops' } },
        stamp,
      )
      const verdict = judgeFault(readFault(typeof answer === 'string' ? 0 : answer.status, textOf(answer)))
      return verdict.kind === 'error' ? verdict.code : verdict.kind
    }
    expect({
      'context-exceeded': verdictOf('context-exceeded'),
      auth: verdictOf('auth'),
      'not-found': verdictOf('not-found'),
      'rate-limit': verdictOf('rate-limit'),
      server: verdictOf('server'),
      overloaded: verdictOf('overloaded'),
      'invalid-request': verdictOf('invalid-request'),
    }).toEqual({
      'context-exceeded': 'context-exceeded',
      auth: 'AuthenticationError',
      'not-found': 'ModelNotFoundError',
      'rate-limit': 'RateLimitError',
      server: 'InternalServerError',
      overloaded: 'InternalServerError',
      'invalid-request': 'BadRequestError',
    })
  })
})

const noUsage = { inputTokens: 1, cacheTokens: 0, outputTokens: 1 }

function hear(client: Dialect, asked: ModelRequest, given: ServedReply, pieceChars: number | null) {
  const stream = pieceChars !== null
  const { dialect } = routeOf(client, stream)
  const answer = { kind: 'reply', reply: given, ...(stream && { pace: { pieceChars, pieceMs: 0 } }) } as const
  const wire = renderAnswer(dialect, served(client, asked, stream), answer, stamp)
  return stream ? readStream(client, asked, wire) : client.parse(JSON.parse(textOf(wire)), asked)
}

function readStream(client: Dialect, asked: ModelRequest, wire: WireAnswer | string) {
  const reader = client.makeStream(asked, () => {})
  const read = makeEventReader((data) => void reader.push(data))
  read(Buffer.from(textOf(wire)))
  return reader.end()
}

function textOf(wire: WireAnswer | string): string {
  return typeof wire === 'string' ? '' : wire.pieces.map(({ data }) => Buffer.from(data).toString()).join('')
}
