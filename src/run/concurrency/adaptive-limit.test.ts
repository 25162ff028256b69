import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Behaviour,
  bytes,
  fails,
  hangsUp,
  type ModelServer,
  startModelServer,
} from '../../../test/fakes/model-server.ts'
import type { AdaptiveConcurrency } from '../../core/concurrency.ts'
import { makeHttpClient } from '../../lib/http-client.ts'
import { makeAdaptiveLimit, readLoad, sumLoads } from './adaptive-limit.ts'

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

const vllm = (running: number, waiting: number, use: number) => `
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} ${running}
vllm:num_requests_running{engine="1",model_name="m"} ${running}
vllm:num_requests_waiting{engine="0",model_name="m"} ${waiting}
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99
vllm:kv_cache_usage_perc{engine="0",model_name="m"} ${use}
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.1
`

/** Polls a number of times, then stops; returns the limits it reported. */
async function looks(
  count: number,
  behaviours: readonly Behaviour[],
  observe: readonly number[] = [],
): Promise<number[]> {
  server.planList(...behaviours)
  const settings: AdaptiveConcurrency = {
    minLimit: 2,
    maxLimit: 100,
    metricsUrls: observe.length > 0 ? [] : [`${server.origin}/metrics`],
    metricsTimeoutSec: 10,
    pollIntervalSec: 120,
    windowSize: 5,
    queueP95DropThreshold: null,
    tolerance: 1.5,
    smoothing: 0.5,
    queueSize: null,
    longWindow: 100,
  }
  const limits: number[] = []
  const controller = new AbortController()
  let left = count
  const adaptive = makeAdaptiveLimit({
    settings,
    start: 20,
    http: makeHttpClient(),
    inFlight: () => adaptive.limit,
    onLimit: (limit) => limits.push(limit),
    wait: async () => {
      for (const latencyMs of observe) adaptive.observe(latencyMs, 1)
      if (--left === 0) controller.abort()
    },
  })
  await adaptive.run(controller.signal)
  return limits
}

test('a page of metrics is read: replicas added up, the fullest cache', () => {
  expect(readLoad(vllm(5, 2, 0.6))).toEqual({ kind: 'load', running: 10, waiting: 2, cacheUse: 0.6 })
  expect(readLoad('sglang:num_running_reqs{x="y"} 3\nsglang:num_queue_reqs 4\nsglang:token_usage 0.5')).toEqual({
    kind: 'load',
    running: 3,
    waiting: 4,
    cacheUse: 0.5,
  })
  expect(readLoad('process_cpu_seconds_total 5')).toBeNull()
})

test('an idle server raises the limit, a crowded one lowers it', async () => {
  const idle = await looks(3, [bytes(vllm(10, 0, 0.2))])
  expect(idle[0]).toBeGreaterThan(20)
  const crowded = await looks(3, [bytes(vllm(5, 80, 0.9))])
  expect(crowded[0]).toBeLessThan(20)
})

test.each([
  ['is not there', fails(404, 'no')],
  ['says nothing of use', bytes('hello')],
  ['breaks', hangsUp],
])('a page that %s changes nothing', async (_, behaviour) => {
  expect(await looks(3, [behaviour])).toEqual([])
})

test('without metrics the time of replies decides', async () => {
  const limits = await looks(5, [], [10, 10, 10])
  expect(limits.at(-1)).toBeGreaterThan(20)
  expect(server.listRequests).toEqual([])
})

test('several servers are one load: added up, and the fullest cache counts', () => {
  const load = { kind: 'load', running: 3, waiting: 1, cacheUse: 0.2 } as const
  expect(sumLoads([load, { ...load, running: 4, cacheUse: 0.7 }, { ...load, cacheUse: null }])).toEqual({
    kind: 'load',
    running: 10,
    waiting: 3,
    cacheUse: 0.7,
  })
  expect(sumLoads([])).toBeNull()
})
