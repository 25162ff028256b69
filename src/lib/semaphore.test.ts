import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

const open = new AbortController().signal

test('never more than the given number are inside', async () => {
  const semaphore = new Semaphore(3)
  let inside = 0
  let most = 0
  const visit = async () => {
    const release = await semaphore.acquire(open)
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside--
    release()
  }
  await Promise.all(Array.from({ length: 20 }, visit))
  expect(most).toBe(3)
  expect(inside).toBe(0)
})

test('the first to wait is the first to enter', async () => {
  const semaphore = new Semaphore(1)
  const release = await semaphore.acquire(open)
  const order: number[] = []
  const waiting = [1, 2, 3].map((n) =>
    semaphore.acquire(open).then((release) => {
      order.push(n)
      release()
    }),
  )
  release()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
})

test('releasing twice frees one place', async () => {
  const semaphore = new Semaphore(1)
  const release = await semaphore.acquire(open)
  release()
  release()
  await semaphore.acquire(open)
  const controller = new AbortController()
  const third = semaphore.acquire(controller.signal)
  controller.abort()
  await expect(third).rejects.toThrow()
})

test('a caller that stops waiting takes no place', async () => {
  const semaphore = new Semaphore(1)
  const release = await semaphore.acquire(open)
  const controller = new AbortController()
  const waiting = semaphore.acquire(controller.signal)
  controller.abort()
  await expect(waiting).rejects.toThrow()
  release()
  await expect(semaphore.acquire(open)).resolves.toBeTypeOf('function')
})

test('a higher limit lets more in at once, a lower one removes none', async () => {
  const semaphore = new Semaphore(1)
  const releases: (() => void)[] = []
  const enter = async () => void releases.push(await semaphore.acquire(open))
  const waiting = [enter(), enter(), enter(), enter()]
  semaphore.resize(3)
  await Promise.all(waiting.slice(0, 3))
  expect(releases).toHaveLength(3)
  semaphore.resize(1)
  for (const release of releases.slice(0, 2)) release()
  await new Promise((resolve) => setImmediate(resolve))
  expect(releases).toHaveLength(3)
  releases[2]?.()
  await waiting[3]
  expect(releases).toHaveLength(4)
})

test('work is counted while it runs or waits, and its place is free again after a failure', async () => {
  const semaphore = new Semaphore(1)
  const release = await semaphore.acquire(open)
  const work = semaphore.run(open, () => Promise.reject(new Error('broken')))
  expect([semaphore.running, semaphore.waiting]).toEqual([1, 1])
  release()
  await expect(work).rejects.toThrow('broken')
  expect([semaphore.running, semaphore.waiting]).toEqual([0, 0])
})

test('a released place goes to the first in line, not to a caller that comes later', async () => {
  const semaphore = new Semaphore(1)
  const release = await semaphore.acquire(open)
  const order: string[] = []
  const first = semaphore.run(open, async () => void order.push('first'))
  release()
  await Promise.all([first, semaphore.run(open, async () => void order.push('later'))])
  expect(order).toEqual(['first', 'later'])
})
