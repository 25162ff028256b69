import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import {
  copyFile,
  isNear,
  list,
  lstatOrNull,
  mkdir,
  remove,
  rename,
  smallBytes,
  stat,
  statOrNull,
  writeText,
} from './disk.ts'

describe('small files of a disk', () => {
  test('a path that does not exist yet is as near as the directory above it', async () => {
    const dir = await makeTempDir()
    expect(isNear(join(dir, 'a/b/c'))).toBe(true)
    expect(isNear('/proc/no-such-entry/below')).toBe(false)
  })

  test('calls work on a local disk and elsewhere', async () => {
    expect((await stat('/proc/self')).isDirectory()).toBe(true)
    expect(await lstatOrNull('/proc/no-such-entry')).toBeNull()
    expect((await list('/proc/self')).map(({ name }) => name)).toContain('stat')
    await expect(mkdir('/proc/new')).rejects.toThrow()
    await remove('/proc/no-such-entry')
  })

  test('a missing path is null, here and elsewhere, and a forbidden one is an error', async () => {
    const dir = await makeTempDir()
    writeFileSync(join(dir, 'file'), '')
    for (const missing of [join(dir, 'none'), join(dir, 'file/below'), '/proc/no-such-entry'])
      expect(await statOrNull(missing)).toBeNull()
    for (const there of [dir, '/proc/self']) expect((await statOrNull(there))?.isDirectory()).toBe(true)
    await expect(statOrNull(join(dir, 'x'.repeat(300)))).rejects.toThrow('ENAMETOOLONG')
  })

  test('text is added to a file, or takes its place', async () => {
    const path = join(await makeTempDir(), 'file')
    await writeText(path, 'one', 'a')
    await writeText(path, ' two', 'a')
    expect(readFileSync(path, 'utf8')).toBe('one two')
    await writeText(path, 'x'.repeat(smallBytes + 1), 'w')
    expect(statSync(path).size).toBe(smallBytes + 1)
  })

  test('a missing path is removed without an error, and a tree with all its contents', async () => {
    const dir = await makeTempDir()
    await remove(join(dir, 'nothing'))
    mkdirSync(join(dir, 'tree/below'), { recursive: true })
    writeFileSync(join(dir, 'tree/below/file'), '')
    await remove(join(dir, 'tree'))
    expect(await lstatOrNull(join(dir, 'tree'))).toBeNull()
  })

  test('files are copied and moved with their modes', async () => {
    const dir = await makeTempDir()
    for (const bytes of [1, smallBytes + 1]) {
      writeFileSync(join(dir, 'from'), Buffer.alloc(bytes), { mode: 0o755 })
      await copyFile(join(dir, 'from'), join(dir, 'copy'))
      await rename(join(dir, 'copy'), join(dir, 'moved'))
      expect((await stat(join(dir, 'moved'))).size).toBe(bytes)
      expect((await stat(join(dir, 'moved'))).mode & 0o777).toBe(0o755)
    }
  })
})
