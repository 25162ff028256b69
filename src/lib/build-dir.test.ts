import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { buildDir } from './drafts.ts'

test('a directory that several build at once appears whole, from one of them', async () => {
  const parent = await makeTempDir()
  const dir = join(parent, 'base')
  const fill = (name: string) => async (draft: string) => {
    for (const part of ['a', 'b', 'c']) await writeFile(join(draft, part), name)
  }
  await Promise.all(['one', 'two', 'three'].map((name) => buildDir(dir, fill(name))))
  expect(await readdir(parent)).toEqual(['base'])
  const parts = await Promise.all(['a', 'b', 'c'].map((part) => readFile(join(dir, part), 'utf8')))
  expect(new Set(parts).size).toBe(1)
})

test('a directory that cannot be filled does not appear, and leaves nothing behind', async () => {
  const parent = await makeTempDir()
  const fails = async (draft: string) => {
    await writeFile(join(draft, 'a'), '')
    throw new Error('disk full')
  }
  await expect(buildDir(join(parent, 'base'), fails)).rejects.toThrow('disk full')
  expect(await readdir(parent)).toEqual([])
})
