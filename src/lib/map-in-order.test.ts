import { expect, test } from 'vitest'
import { mapInOrder } from './map-in-order.ts'

async function collect<T>(results: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const result of results) all.push(result)
  return all
}

test('gives results in the order of the items, however long each takes, and never works on too many', async () => {
  let running = 0
  let most = 0
  const work = async (turns: number) => {
    most = Math.max(most, ++running)
    for (let i = 0; i < turns; i++) await new Promise(setImmediate)
    running--
    return turns
  }
  expect(await collect(mapInOrder([9, 1, 5, 0, 7, 3], 3, work))).toEqual([9, 1, 5, 0, 7, 3])
  expect(most).toBe(3)
})

test('waits for the work in progress before it passes an error on', async () => {
  const finished: number[] = []
  const work = async (item: number) => {
    if (item === 1) throw new Error('one')
    for (let i = 0; i < 50; i++) await Promise.resolve()
    finished.push(item)
  }
  await expect(collect(mapInOrder([0, 1, 2, 3, 4], 3, work))).rejects.toThrow('one')
  expect(finished).toEqual([0, 2, 3])
})
