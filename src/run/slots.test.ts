import { expect, test } from 'vitest'
import { makeSlots } from './slots.ts'

const open = new AbortController().signal

test('never more than the given number are inside', async () => {
  const slots = makeSlots(3)
  let inside = 0
  let most = 0
  const visit = async () => {
    const leave = await slots.take(open)
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside--
    leave()
  }
  await Promise.all(Array.from({ length: 20 }, visit))
  expect(most).toBe(3)
  expect(inside).toBe(0)
})

test('the first to wait is the first to enter', async () => {
  const slots = makeSlots(1)
  const leave = await slots.take(open)
  const order: number[] = []
  const waiting = [1, 2, 3].map((n) =>
    slots.take(open).then((leave) => {
      order.push(n)
      leave()
    }),
  )
  leave()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
})

test('leaving twice frees one place', async () => {
  const slots = makeSlots(1)
  const leave = await slots.take(open)
  leave()
  leave()
  await slots.take(open)
  const controller = new AbortController()
  const third = slots.take(controller.signal)
  controller.abort()
  await expect(third).rejects.toThrow()
})

test('one who stops waiting takes no place', async () => {
  const slots = makeSlots(1)
  const leave = await slots.take(open)
  const controller = new AbortController()
  const waiting = slots.take(controller.signal)
  controller.abort()
  await expect(waiting).rejects.toThrow()
  leave()
  await expect(slots.take(open)).resolves.toBeTypeOf('function')
})

test('more places let more in at once, fewer send nobody away', async () => {
  const slots = makeSlots(1)
  const leaves: (() => void)[] = []
  const enter = async () => void leaves.push(await slots.take(open))
  const waiting = [enter(), enter(), enter(), enter()]
  slots.resize(3)
  await Promise.all(waiting.slice(0, 3))
  expect(leaves).toHaveLength(3)
  slots.resize(1)
  for (const leave of leaves.slice(0, 2)) leave()
  await new Promise((resolve) => setImmediate(resolve))
  expect(leaves).toHaveLength(3)
  leaves[2]?.()
  await waiting[3]
  expect(leaves).toHaveLength(4)
})
