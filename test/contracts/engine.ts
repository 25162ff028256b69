import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Engine, ModelReply } from '../../src/core/model.ts'
import { type Behaviour, hangsUp, type ModelServer, silent, startModelServer } from '../fakes/model-server.ts'

/** How a server of one dialect expresses what all servers can. */
export interface Voice {
  /** A whole reply or a stream, as requested. */
  says(text: string): Behaviour
  /** Starts to stream a text, then breaks the connection. */
  breaksAfter(text: string): Behaviour
  isCutOff(text: string): Behaviour
  isFiltered: Behaviour
  callsTool(name: string, args: object): Behaviour
  fails(status: number, message: string): Behaviour
  isTooLong: Behaviour
  lists(...models: readonly string[]): Behaviour
}

export interface EngineUnderTest {
  readonly voice: Voice
  /** An engine with little patience for a server at `origin`, with the key `key`. */
  make(origin: string, key: string, options?: Record<string, unknown>): Engine
  /** The header that carries a key. */
  readonly keyHeader: string
}

const key = 'a-key-nobody-may-see'
const hello = { messages: [{ role: 'user', content: 'hello' }] as const }

/** What every engine with a server promises. */
export function engineLaws(name: string, { voice, make, keyHeader }: EngineUnderTest): void {
  describe(name, () => {
    let server: ModelServer
    let engine: Engine
    const options = {
      model: 'm',
      min_wait_sec: 0.001,
      max_attempts: 3,
      healthcheck_max_attempts: 2,
      healthcheck_retry_delay: 0.001,
    }

    beforeEach(async () => {
      server = await startModelServer()
      server.planList(voice.lists('m', 'n'))
      engine = make(server.origin, key, options)
    })
    afterEach(() => server.close())

    const reply = async (streamed = false): Promise<ModelReply> => {
      const outcome = await engine.client('m').complete(hello, streamed ? { onText: () => {} } : {})
      if (outcome.kind !== 'reply') throw new Error(`expected a reply, got ${outcome.kind}`)
      return outcome.reply
    }

    test('a reply has its text, counts and time, and the key travels in its header', async () => {
      server.plan(voice.says('hi there'))
      const { text, finish, usage, latencyMs, costUsd, attempts } = await reply()
      expect({ text, finish, costUsd, attempts }).toEqual({
        text: 'hi there',
        finish: 'stop',
        costUsd: null,
        attempts: 1,
      })
      expect(usage.inputTokens).toBeGreaterThan(0)
      expect(usage.outputTokens).toBeGreaterThan(0)
      expect(latencyMs).toBeGreaterThan(0)
      expect(server.requests[0]?.headers[keyHeader]).toContain(key)
      expect(server.requests[0]?.path).not.toContain(key)
    })

    test('a stream is heard piece by piece and ends in the same reply', async () => {
      server.plan(voice.says('hi there, you'))
      const heard: string[] = []
      const outcome = await engine.client('m').complete(hello, { onText: (text) => heard.push(text) })
      expect(heard.length).toBeGreaterThan(1)
      expect(heard.join('')).toBe('hi there, you')
      const { latencyMs, ...rest } = await reply()
      expect(outcome).toMatchObject({ kind: 'reply', reply: rest })
    })

    test('prices make costs', async () => {
      engine = make(server.origin, key, {
        ...options,
        model_info: { input_cost_per_token: 0.5, output_cost_per_token: 1 },
      })
      server.plan(voice.says('x'))
      const { usage, costUsd } = await reply()
      expect(costUsd).toBeCloseTo(usage.inputTokens * 0.5 + usage.outputTokens)
    })

    test('a text cut off, a filtered one and a tool call are told apart', async () => {
      server.plan(voice.isCutOff('half'), voice.isFiltered, voice.callsTool('run', { x: 1 }))
      expect(await reply()).toMatchObject({ finish: 'length', text: 'half' })
      expect(await reply()).toMatchObject({ finish: 'content-filter' })
      expect(await reply()).toMatchObject({ finish: 'tool-calls', toolCalls: [{ name: 'run', arguments: '{"x":1}' }] })
    })

    test('a broken stream and a dropped connection are tried again', async () => {
      engine = make(server.origin, key, { ...options, stream: true })
      server.plan(voice.breaksAfter('he'), hangsUp, voice.says('hello'))
      expect(await reply()).toMatchObject({ text: 'hello', attempts: 3 })
    })

    test.each([
      [401, 'AuthenticationError', false],
      [403, 'PermissionDeniedError', false],
      [404, 'ModelNotFoundError', false],
      [429, 'RateLimitError', true],
      [500, 'InternalServerError', true],
    ])('%i is a %s', async (status, code, retryable) => {
      server.plan(voice.fails(status, `no, ${key}!`))
      const failure = await reply().catch((error: unknown) => error)
      expect(failure).toMatchObject({ name: 'BoundaryError', boundary: 'model', code, retryable })
      expect(String(failure)).not.toContain(key)
      expect(server.requests).toHaveLength(retryable ? 3 : 1)
    })

    test('a context that is too long is a value, not an error', async () => {
      server.plan(voice.isTooLong)
      expect(await engine.client('m').complete(hello)).toMatchObject({ kind: 'context-exceeded' })
    })

    test('a deadline and an abort end a call', async () => {
      server.plan(silent)
      const client = engine.client('m')
      await expect(client.complete(hello, { timeoutSec: 0.05 })).rejects.toMatchObject({ code: 'ApiTimeoutError' })
      const signal = AbortSignal.timeout(50)
      await expect(client.complete(hello, { signal })).rejects.toBe(
        await new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason))),
      )
    })

    test('a budget that is spent sends nothing', async () => {
      const account = { needsPrices: false, admit: () => '3 requests', charge: () => expect.unreachable() }
      const outcome = await engine.client('m', account).complete(hello)
      expect(outcome).toEqual({ kind: 'budget-exceeded', budget: '3 requests' })
      expect(server.requests).toEqual([])
    })

    test('what was used is charged, for failures too', async () => {
      const charges: unknown[] = []
      const account = { needsPrices: false, admit: () => null, charge: (charge: unknown) => charges.push(charge) }
      server.plan(voice.fails(500, 'oops'), voice.says('x'), voice.fails(401, 'no'))
      const client = engine.client('m', account)
      await client.complete(hello)
      await client.complete(hello).catch(() => {})
      expect(charges).toEqual([
        { model: 'm', requests: 2, costUsd: null, usage: expect.objectContaining({ inputTokens: expect.any(Number) }) },
        { model: 'm', requests: 1, costUsd: null, usage: null },
      ])
    })

    test('a budget in money is refused for a model without prices, before anything is sent', () => {
      const account = { needsPrices: true, admit: () => null, charge: () => {} }
      expect(() => engine.client('m', account)).toThrow(/needs the model's prices/)
    })

    test('a server that is up and has the model is healthy', async () => {
      expect(await engine.health(new AbortController().signal)).toMatchObject({
        healthy: true,
        models: expect.arrayContaining(['m']),
      })
    })

    test('a server without the model is not, and says what it has', async () => {
      const other = make(server.origin, key, { ...options, model: 'mm' })
      server.planList((response, request) =>
        (/models\/mm/.test(request.path) ? voice.fails(404, 'no') : voice.lists('m', 'n'))(response, request),
      )
      const health = await other.health(new AbortController().signal)
      expect(health).toMatchObject({
        healthy: false,
        reason: expect.stringMatching(/does not serve mm; it serves m, n/),
      })
    })

    test.each([
      [
        'lists nothing',
        (response, request) =>
          (/models\/m/.test(request.path) ? voice.fails(404, 'no') : voice.lists())(response, request),
      ],
      ['cannot list', voice.fails(500, 'no cache folder')],
    ] satisfies [string, Behaviour][])('a server that %s is asked for a word: its answer counts', async (_, list) => {
      server.planList(list)
      server.plan(voice.says('hi'))
      const { signal } = new AbortController()
      expect(await engine.health(signal)).toEqual({ healthy: true, models: ['m'] })
      server.plan(voice.fails(404, 'no such model'))
      const reason = expect.stringMatching(/(serves nothing|no cache folder); a short test request failed too: .*404/)
      expect(await engine.health(signal)).toMatchObject({ healthy: false, reason })
    })

    test('a server that refuses the key or is not there is not, and the reason is readable', async () => {
      server.planList(voice.fails(401, `bad ${key}`))
      const refused = await engine.health(new AbortController().signal)
      expect(refused).toMatchObject({ healthy: false, reason: expect.stringMatching(/401/) })
      expect(JSON.stringify(refused)).not.toContain(key)
      await server.close()
      const gone = await engine.health(new AbortController().signal)
      expect(gone).toMatchObject({
        healthy: false,
        reason: expect.stringMatching(/no model server answers at http.*asked 2 times/),
      })
    })
  })
}
