import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AdaptiveConcurrency } from '../../core/concurrency.ts'
import { decideLimit, type LimitState, type LoadSample, startLimit } from './decide-limit.ts'

const settings: AdaptiveConcurrency = {
  minLimit: 4,
  maxLimit: 512,
  metricsUrls: [],
  metricsTimeoutSec: 10,
  pollIntervalSec: 120,
  windowSize: 5,
  queueP95DropThreshold: null,
  tolerance: 1.5,
  smoothing: 0.5,
  queueSize: null,
  longWindow: 100,
}

/** A server that runs `capacity` requests at once and queues the rest; its cache is full when it runs them all. */
function loadOf(inFlight: number, capacity: number): LoadSample {
  const running = Math.min(inFlight, capacity)
  return { kind: 'load', running, waiting: inFlight - running, cacheUse: 0.85 * (running / capacity) }
}

/** A server without metrics that takes longer the more requests it has. */
function latencyOf(inFlight: number, capacity: number): LoadSample {
  return { kind: 'latency', msPerToken: 10 * Math.max(1, inFlight / capacity) }
}

function simulate(
  state: LimitState,
  steps: number,
  look: (inFlight: number) => LoadSample,
  given = settings,
): LimitState {
  let now = state
  for (let i = 0; i < steps; i++) now = decideLimit(now, look(Math.floor(now.limit)), Math.floor(now.limit), given)
  return now
}

describe.each([16, 100, 400])('a server with room for %i', (capacity) => {
  test.each([4, 512])('is found by its metrics, starting from %i', (start) => {
    const end = simulate(startLimit(start, settings), 60, (n) => loadOf(n, capacity))
    expect(end.limit).toBeGreaterThan(capacity * 0.8)
    expect(end.limit).toBeLessThan(capacity * 1.6)
  })

  test('is found by its latency, starting low', () => {
    const end = simulate(startLimit(4, settings), 200, (n) => latencyOf(n, capacity))
    expect(end.limit).toBeGreaterThan(Math.min(capacity, settings.maxLimit) * 0.8)
    expect(end.limit).toBeLessThanOrEqual(Math.min(capacity * 2.5, settings.maxLimit))
  })
})

test('a server that loses half its room is followed down, and up again', () => {
  const full = simulate(startLimit(4, settings), 60, (n) => loadOf(n, 200))
  const half = simulate(full, 30, (n) => loadOf(n, 100))
  expect(half.limit).toBeLessThan(160)
  expect(simulate(half, 60, (n) => loadOf(n, 200)).limit).toBeGreaterThan(160)
})

test('with a full cache the limit stops growing', () => {
  const state = startLimit(100, settings)
  const next = simulate(state, 20, (n) => ({ kind: 'load', running: n, waiting: 0, cacheUse: 0.95 }))
  expect(next.limit).toBe(100)
})

test('a limit that is not used up stays as it is', () => {
  const idle: LoadSample = { kind: 'load', running: 3, waiting: 0, cacheUse: 0.01 }
  expect(decideLimit(startLimit(100, settings), idle, 3, settings).limit).toBe(100)
})

test('a failed poll changes nothing', () => {
  const state = startLimit(50, settings)
  expect(decideLimit(state, null, 50, settings)).toBe(state)
})

test('a queue above its threshold drops the limit at once, and only once for the same queue', () => {
  const strict = { ...settings, queueP95DropThreshold: 10 }
  const long: LoadSample = { kind: 'load', running: 100, waiting: 11, cacheUse: 0.5 }
  const dropped = decideLimit(startLimit(100, strict), long, 111, strict)
  expect(dropped).toMatchObject({ limit: 70, waiting: [] })
  const calm = decideLimit(dropped, { ...long, running: 70, waiting: 0 }, 70, strict)
  expect(calm.limit).toBeGreaterThan(70)
})

test('whatever a server shows, the limit stays within its bounds', () => {
  const sample = fc.oneof(
    fc.record({
      kind: fc.constant('load' as const),
      running: fc.nat(2000),
      waiting: fc.nat(2000),
      cacheUse: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    fc.record({ kind: fc.constant('latency' as const), msPerToken: fc.double({ min: 0.001, max: 1e6, noNaN: true }) }),
    fc.constant(null),
  )
  fc.assert(
    fc.property(fc.nat(1000), fc.array(fc.tuple(sample, fc.nat(1000)), { maxLength: 50 }), (start, looks) => {
      let state = startLimit(start, settings)
      for (const [look, inFlight] of looks) {
        state = decideLimit(state, look, inFlight, settings)
        expect(state.limit).toBeGreaterThanOrEqual(settings.minLimit)
        expect(state.limit).toBeLessThanOrEqual(settings.maxLimit)
        expect(state.waiting.length).toBeLessThanOrEqual(settings.windowSize)
      }
    }),
  )
})
