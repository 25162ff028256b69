import { expect, test } from 'vitest'
import { Running } from './running.ts'

const counting = (to: number) =>
  new Running<number, string>(async (emit) => {
    for (let n = 1; n <= to; n++) {
      emit(n)
      await null
    }
    return 'done'
  })

test('gives every event from the first, then its result', async () => {
  const run = counting(3)
  const seen: number[] = []
  for await (const n of run) seen.push(n)
  expect(seen).toEqual([1, 2, 3])
  expect(await run).toBe('done')
})

test('needs no reader', async () => {
  expect(await counting(3)).toBe('done')
})

test('goes to its end when its reader leaves early', async () => {
  const run = counting(3)
  for await (const n of run) if (n === 1) break
  expect(await run).toBe('done')
})

test('has several readers', async () => {
  const run = counting(2)
  const read = async () => {
    const seen: number[] = []
    for await (const n of run) seen.push(n)
    return seen
  }
  expect(await Promise.all([read(), read()])).toEqual([
    [1, 2],
    [1, 2],
  ])
})

test('throws what its work throws, where it is read and where it is awaited', async () => {
  const run = new Running<number, never>(async (emit) => {
    emit(1)
    throw new Error('broken')
  })
  const seen: number[] = []
  const reading = (async () => {
    for await (const n of run) seen.push(n)
  })()
  await expect(reading).rejects.toThrow('broken')
  expect(seen).toEqual([1])
  await expect(run).rejects.toThrow('broken')
})

test('a reader that comes late gets very many events', async () => {
  const run = new Running<number, null>(async (emit) => {
    for (let n = 0; n < 200_000; n++) emit(n)
    return null
  })
  let seen = 0
  for await (const n of run) if (n === seen) seen++
  expect(seen).toBe(200_000)
})
