import { describe, expect, test } from 'vitest'
import type { CallOptions, Engine, ModelReply, ModelRequest } from '../../src/core/model.ts'

export interface InProcessEngine {
  /** An engine that serves the model `m` and has a reply to `hello`. */
  make(options?: Record<string, unknown>): Engine
  /** Options that make a reply take longer than anyone waits. */
  readonly slow: Record<string, unknown>
  /** Options that limit a conversation to a few tokens. */
  readonly forgetful: Record<string, unknown>
}

const hello: ModelRequest = { messages: [{ role: 'user', content: 'hello' }], temperature: 0 }

/** What every engine with an in-process model promises: the laws of `engine.ts` that need no misbehaving server. */
export function inProcessLaws(name: string, { make, slow, forgetful }: InProcessEngine): void {
  describe(name, () => {
    const ask = async (engine: Engine, more: Partial<ModelRequest> = {}, options: CallOptions = {}) => {
      const outcome = await engine.client('m').complete({ ...hello, ...more }, options)
      if (outcome.kind !== 'reply') throw new Error(`expected a reply, got ${outcome.kind}`)
      return outcome.reply
    }
    const same = ({ latencyMs, usage, ...rest }: ModelReply) => rest

    test('a reply has its text, counts and time', async () => {
      const reply = await ask(make(), { maxOutputTokens: 500 })
      expect(reply.text).not.toBe('')
      expect(reply).toMatchObject({ costUsd: null, attempts: 1, toolCalls: [] })
      expect(reply.usage.inputTokens).toBeGreaterThan(0)
      expect(reply.usage.outputTokens).toBeGreaterThan(0)
      expect(reply.latencyMs).toBeGreaterThan(0)
    })

    test('a stream is heard piece by piece and ends in the same reply', async () => {
      const heard: string[] = []
      const streamed = await ask(make(), { maxOutputTokens: 60 }, { onText: (text) => heard.push(text) })
      expect(heard.length).toBeGreaterThan(1)
      expect(heard.join('')).toBe(streamed.text)
      expect(same(streamed)).toEqual(same(await ask(make(), { maxOutputTokens: 60 })))
    })

    test('seed for sampling: the same seed and conversation give the same reply', async () => {
      const draw = { temperature: 1.5, maxOutputTokens: 12 }
      expect(same(await ask(make({ seed: 4 }), draw))).toEqual(same(await ask(make({ seed: 4 }), draw)))
    })

    test('prices make costs, and what was used is charged', async () => {
      const engine = make({ model_info: { input_cost_per_token: 0.5, output_cost_per_token: 1 } })
      const charges: unknown[] = []
      const account = { needsPrices: true, admit: () => null, charge: (charge: unknown) => charges.push(charge) }
      const outcome = await engine.client('m', account).complete({ ...hello, maxOutputTokens: 3 })
      if (outcome.kind !== 'reply') throw new Error(outcome.kind)
      const { usage, costUsd } = outcome.reply
      expect(costUsd).toBeCloseTo(usage.inputTokens * 0.5 + usage.outputTokens)
      expect(charges).toEqual([{ model: 'm', requests: 1, costUsd, usage }])
    })

    test('a reply that is cut off says so, and one that reaches a word to stop at ends before it', async () => {
      const engine = make()
      const long = await ask(engine, { maxOutputTokens: 30 })
      expect(await ask(engine, { maxOutputTokens: 2 })).toMatchObject({
        finish: 'length',
        usage: { outputTokens: expect.toSatisfy((tokens: number) => tokens <= 2) },
      })
      const stop = long.text.slice(5, 7)
      const { text, finish } = await ask(engine, { maxOutputTokens: 30, stop: [stop] })
      expect({ text, finish }).toEqual({ text: long.text.slice(0, long.text.indexOf(stop)), finish: 'stop' })
    })

    test('token ids and their likelihoods are there when they are asked for', async () => {
      expect((await ask(make(), { maxOutputTokens: 9 })).tokens).toBeNull()
      const { tokens, usage } = await ask(make(), { maxOutputTokens: 9, tokenDetails: true })
      expect(tokens?.promptIds).toHaveLength(usage.inputTokens)
      expect(tokens?.completionIds).toHaveLength(usage.outputTokens)
      expect(tokens?.logprobs?.every((value) => value <= 0)).toBe(true)
    })

    test('a context that is too long is a value, not an error', async () => {
      const messages = [{ role: 'user' as const, content: 'hello '.repeat(400) }]
      expect(await make(forgetful).client('m').complete({ messages })).toMatchObject({ kind: 'context-exceeded' })
    })

    test('a deadline and an abort end a call, and the next one is answered', async () => {
      const engine = make(slow)
      const client = engine.client('m')
      await expect(client.complete(hello, { timeoutSec: 0.005 })).rejects.toMatchObject({ code: 'ApiTimeoutError' })
      const signal = AbortSignal.timeout(5)
      await expect(client.complete(hello, { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
    })

    test('a budget that is spent asks nothing', async () => {
      const account = { needsPrices: false, admit: () => '3 requests', charge: () => expect.unreachable() }
      expect(await make().client('m', account).complete(hello)).toEqual({
        kind: 'budget-exceeded',
        budget: '3 requests',
      })
    })

    test('a budget in money is refused for a model without prices', () => {
      const account = { needsPrices: true, admit: () => null, charge: () => {} }
      expect(() => make().client('m', account)).toThrow(/needs the model's prices/)
    })

    test('it is healthy, says which model it has, and knows no other', async () => {
      const engine = make()
      expect(await engine.health(new AbortController().signal)).toMatchObject({ healthy: true, models: ['m'] })
      const failure = await engine
        .client('other')
        .complete(hello)
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({ name: 'BoundaryError', boundary: 'model', code: 'ModelNotFoundError' })
    })
  })
}
