import { appendFile, mkdtemp, readFile, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openJsonLines, readJsonLines } from './jsonl.ts'

const newPath = async () => join(await mkdtemp(join(tmpdir(), 'jsonl-')), 'deep', 'x.jsonl')

async function all(path: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of readJsonLines(path)) values.push(value)
  return values
}

test('lines are read in the order they were appended, also across several openings', async () => {
  const path = await newPath()
  expect(await all(path)).toEqual([])
  for (const part of [1, 2]) {
    const file = await openJsonLines(path)
    for (let i = 0; i < 500; i++) file.append({ part, i })
    await file.close()
  }
  const found = await all(path)
  expect(found).toHaveLength(1000)
  expect(found[999]).toEqual({ part: 2, i: 499 })
})

test('a line that a crash cut short costs only itself', async () => {
  const path = await newPath()
  const file = await openJsonLines(path)
  for (const word of ['one', 'two']) file.append({ word })
  await file.close()
  await truncate(path, (await readFile(path)).length - 5)
  const again = await openJsonLines(path)
  again.append({ word: 'three' })
  await again.close()
  expect(await all(path)).toEqual([{ word: 'one' }, { word: 'three' }])
})

test('a flush waits for everything and reports errors', async () => {
  const path = await newPath()
  const file = await openJsonLines(path)
  file.append({ a: 1 })
  await file.flush()
  expect(await all(path)).toEqual([{ a: 1 }])
  await file.close()
  file.append({ a: 2 })
  await expect(file.flush()).rejects.toThrow()
})

test('lines that are not JSON are skipped', async () => {
  const path = await newPath()
  await (await openJsonLines(path)).close()
  await appendFile(path, 'not json\n\n{"a":1}\n\0\0\0\n{"a":2}')
  expect(await all(path)).toEqual([{ a: 1 }, { a: 2 }])
})
