import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { AlreadyThere, makeDirWhole } from './new-dir.ts'

test('makes a directory and its parents, filled', async () => {
  const dir = await makeTempDir()
  await makeDirWhole(join(dir, 'a/b/new'), (temporary) => writeFile(join(temporary, 'x'), 'y'))
  expect(await readFile(join(dir, 'a/b/new/x'), 'utf8')).toBe('y')
  expect(await readdir(join(dir, 'a/b'))).toEqual(['new'])
})

test('leaves nothing behind when filling fails', async () => {
  const dir = await makeTempDir()
  await mkdir(join(dir, 'kept'))
  const fail = async (temporary: string) => {
    await writeFile(join(temporary, 'x'), 'y')
    throw new Error('no more')
  }
  await expect(makeDirWhole(join(dir, 'kept/a/b/new'), fail)).rejects.toThrow('no more')
  expect(await readdir(dir, { recursive: true })).toEqual(['kept'])
})

test('never replaces what is there', async () => {
  const dir = await makeTempDir()
  await mkdir(join(dir, 'empty'))
  await writeFile(join(dir, 'file'), 'x')
  await symlink('nowhere', join(dir, 'link'))
  for (const name of ['empty', 'file', 'link']) {
    await expect(makeDirWhole(join(dir, name), async () => {})).rejects.toThrow(AlreadyThere)
  }
  expect((await readdir(dir)).sort()).toEqual(['empty', 'file', 'link'])
})

test('gives way to a directory that appears in the meantime', async () => {
  const dir = await makeTempDir()
  const race = async (temporary: string) => {
    await writeFile(join(temporary, 'mine'), '')
    await mkdir(join(dir, 'new'))
    await writeFile(join(dir, 'new/theirs'), '')
  }
  await expect(makeDirWhole(join(dir, 'new'), race)).rejects.toThrow(AlreadyThere)
  expect(await readdir(dir, { recursive: true })).toEqual(['new', 'new/theirs'])
})
