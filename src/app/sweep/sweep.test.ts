import { expect, test } from 'vitest'
import { BoundaryError } from '../../core/errors.ts'
import type { ModelClient, ModelReply } from '../../core/model.ts'
import { gridOf } from './grid.ts'
import { measureLoad } from './measure-load.ts'
import { runSweep } from './run-sweep.ts'

const facts = { contextTokens: null, outputTokens: null, inputUsdPerToken: null, cacheUsdPerToken: null } as const
const { signal } = new AbortController()
const load = { promptTokens: 30, maxOutputTokens: 8, timeoutSec: 5 }

/** A model that answers in request order, and fails every `failEvery`th call. */
function fakeModel(failEvery = 0) {
  const seen = { calls: 0, running: 0, most: 0, prompts: new Set<string>() }
  const client: ModelClient = {
    model: 'fake',
    facts: { ...facts, outputUsdPerToken: null },
    countTokens: () => ({ tokens: 1, exact: false }),
    complete: async ({ messages }, options) => {
      const nth = ++seen.calls
      seen.prompts.add(messages[0]?.content ?? '')
      seen.most = Math.max(seen.most, ++seen.running)
      await new Promise((done) => setImmediate(done))
      seen.running--
      if (failEvery > 0 && nth % failEvery === 0) throw new BoundaryError('model', 'the server is down')
      options?.onText?.('a')
      const usage = { inputTokens: 30, cacheTokens: 0, outputTokens: 8 }
      return { kind: 'reply', reply: { text: 'a', usage } as unknown as ModelReply }
    },
  }
  return { client, seen }
}

test('a load keeps a constant number of requests in flight, and counts tokens and failures', async () => {
  const { client, seen } = fakeModel(5)
  const result = await measureLoad(client, { ...load, concurrency: 3, requests: 20, signal })
  expect(result).toMatchObject({ requests: 20, failed: 4, errors: { 'the server is down': 4 } })
  expect(result).toMatchObject({ inputTokens: 16 * 30, outputTokens: 16 * 8, latencySec: { count: 16 } })
  expect(result.firstTokenSec?.count).toBe(16)
  expect(seen.most).toBe(3)
  // Equal prompts could be answered from a cache.
  expect(seen.prompts.size).toBe(20)
})

test('every point is measured at every concurrency and closed, and one that does not start costs only itself', async () => {
  const log: string[] = []
  const points = gridOf(['a=1,2', 'b=x'])
  const open = async (point: object) => {
    const name = JSON.stringify(point)
    log.push(`open ${name}`)
    if (name.includes('2')) throw new BoundaryError('model', 'out of memory')
    return { client: fakeModel().client, close: async () => void log.push(`close ${name}`) }
  }
  const { points: measured } = await runSweep({ points, concurrencies: [1, 2], requests: 4, open, ...load }, signal)
  expect(
    measured.map(({ settings, concurrency, load, error }) => [settings, concurrency, load?.requests ?? error]),
  ).toEqual([
    [{ a: 1, b: 'x' }, 1, 4],
    [{ a: 1, b: 'x' }, 2, 4],
    [{ a: 2, b: 'x' }, 0, 'out of memory'],
  ])
  expect(log).toEqual(['open {"a":1,"b":"x"}', 'close {"a":1,"b":"x"}', 'open {"a":2,"b":"x"}'])
})

test('a sweep that is stopped closes its server', async () => {
  const stop = new AbortController()
  let closed = 0
  const open = async () => ({ client: fakeModel().client, close: async () => void closed++ })
  const sweep = runSweep({ points: [{}], concurrencies: [1, 1], requests: 2, open, ...load }, stop.signal)
  const ended = (async () => {
    for await (const _ of sweep) stop.abort()
  })()
  await expect(ended).rejects.toThrow()
  expect(closed).toBe(1)
})

test('grids are combinations, and a list as JSON keeps its commas', () => {
  expect(gridOf([])).toEqual([{}])
  expect(gridOf(['a=1,true', 'b=["x,y"]'])).toEqual([
    { a: 1, b: 'x,y' },
    { a: true, b: 'x,y' },
  ])
  for (const [vary, message] of [
    [['a'], 'KEY=VALUE'],
    [['a='], 'comma-separated values'],
    [['a=1', 'a=2'], 'each setting once'],
    [[`a=${Array.from({ length: 201 }, (_, i) => i).join(',')}`], 'at most 200'],
  ] as const)
    expect(() => gridOf(vary)).toThrow(message)
})
