import { setMaxListeners } from 'node:events'
import { expect, test } from 'vitest'
import { makeRateLimit } from './rate-limit.ts'

const open = new AbortController().signal
setMaxListeners(0, open)

/** A fake clock that advances only by waiting; waits end in the order of their end times. */
function fakeTime() {
  let now = 0
  const sleepers: { until: number; wake: () => void }[] = []
  return {
    now: () => now,
    wait: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        sleepers.push({ until: now + ms, wake: resolve })
      }),
    async pass(ms: number) {
      const end = now + ms
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        sleepers.sort((a, b) => a.until - b.until)
        const next = sleepers[0]
        if (!next || next.until > end) break
        now = Math.max(now, next.until)
        sleepers.shift()
        next.wake()
      }
      now = end
    },
  }
}

test('requests per minute: a burst, then a steady pace', async () => {
  const time = fakeTime()
  const limit = makeRateLimit(60, null, time.now, time.wait)
  let passed = 0
  for (let i = 0; i < 100; i++) void limit.take(() => 0, open).then(() => passed++)
  await time.pass(0)
  expect(passed).toBe(10)
  await time.pass(30_000)
  expect(passed).toBe(40)
  await time.pass(60_000)
  expect(passed).toBe(100)
})

test('tokens per minute follow what was really used', async () => {
  const time = fakeTime()
  const limit = makeRateLimit(null, 6000, time.now, time.wait)
  const settle = await limit.take(() => 100, open)
  settle(1000 + 6000)
  let passed = false
  void limit
    .take(() => 0, open)
    .then(() => {
      passed = true
    })
  await time.pass(59_000)
  expect(passed).toBe(false)
  await time.pass(2_000)
  expect(passed).toBe(true)
})

test('a caller that gives up returns its reservation', async () => {
  const time = fakeTime()
  const limit = makeRateLimit(6, null, time.now, time.wait)
  await limit.take(() => 0, open)
  const controller = new AbortController()
  const given = limit.take(() => 0, controller.signal)
  controller.abort()
  await expect(given).rejects.toThrow()
  let passed = false
  void limit
    .take(() => 0, open)
    .then(() => {
      passed = true
    })
  await time.pass(10_000)
  expect(passed).toBe(true)
})

test('a pause holds all callers, with or without limits', async () => {
  const time = fakeTime()
  const limit = makeRateLimit(null, null, time.now, time.wait)
  limit.pause(5000)
  let passed = 0
  for (let i = 0; i < 3; i++) void limit.take(() => 0, open).then(() => passed++)
  await time.pass(4999)
  expect(passed).toBe(0)
  await time.pass(1)
  expect(passed).toBe(3)
})
