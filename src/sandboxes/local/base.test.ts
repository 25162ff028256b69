import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mountPoints, partsOf, refuseTooMany } from './base.ts'

describe('the parts of a system directory', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'ot-base-'))
    for (const path of ['bin/tool', 'lib/deep/file', 'local/bin/own', 'local/driver/below', 'README']) {
      mkdirSync(join(dir, dirname(path)), { recursive: true })
      writeFileSync(join(dir, path), path)
    }
    mkdirSync(join(dir, 'empty'))
    symlinkSync('share/man', join(dir, 'local/man'))
  })
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  const relative = async (mounts: readonly string[]) => {
    const places = mounts.map((path) => join(dir, path))
    const parts = await partsOf(dir, places)
    await refuseTooMany(parts, places)
    const short = (path: string) => `/${path}`.replace(/^\/+/, '/').replace(dir, '').slice(1)
    return {
      overlays: parts.overlays.map(({ lower, target }) => [short(lower), short(target)]).sort(),
      names: new Set(parts.overlays.map(({ name }) => name)).size,
      dirs: parts.dirs.map(short).sort(),
      copied: parts.copied.map(short).sort(),
    }
  }

  test('are one overlay where nothing is mounted in it', async () => {
    const whole = { overlays: [['', '']], names: 1, dirs: [], copied: [] }
    expect(await relative([])).toEqual(whole)
    expect(await relative(['', '../beside', '../ot-base'])).toEqual(whole)
  })

  test('are an overlay for each directory that nothing is mounted in, and what lies beside them', async () => {
    expect(await relative(['local/driver'])).toEqual({
      overlays: [
        ['bin', 'bin'],
        ['lib', 'lib'],
        ['local/bin', 'local/bin'],
      ],
      names: 3,
      dirs: ['', 'bin', 'empty', 'lib', 'local', 'local', 'local/bin', 'local/driver'],
      copied: ['README', 'local/man'],
    })
  })

  test('leave out a file that something is mounted on', async () => {
    const { overlays, copied } = await relative(['bin/tool', 'README'])
    expect(overlays).toEqual([
      ['lib', 'lib'],
      ['local', 'local'],
    ])
    expect(copied).toEqual([])
  })

  test('leave out what is neither a file nor a link nor a directory', async () => {
    execFileSync('mkfifo', [join(dir, 'local/pipe')])
    expect((await relative(['local/driver'])).copied).toEqual(['README', 'local/man'])
  })

  test('have names of their own, whatever the directories are called', async () => {
    for (const path of ['lib/a/b/file', 'lib/a+b/file', 'lib/a+/b/file', 'lib/on/file']) {
      mkdirSync(join(dir, dirname(path)), { recursive: true })
      writeFileSync(join(dir, path), '')
    }
    const { overlays, names } = await relative(['lib/on', 'lib/a/on', 'lib/a+/on'])
    expect(names).toBe(overlays.length)
  })

  test('are refused, with what is mounted, where too much would have to be copied or mounted', async () => {
    // Together, in two directories.
    for (const path of ['bin/tool', 'README']) truncateSync(join(dir, path), 150 * 1024 * 1024)
    mkdirSync(join(dir, 'bin/on'))
    await expect(relative(['bin/on'])).rejects.toMatchObject({
      message: `local sandboxes of this user cannot show ${dir}: ${join(dir, 'bin/on')} is mounted in it`,
      hint: expect.stringContaining('run as root'),
    })
    for (let i = 0; i < 61; i++) {
      mkdirSync(join(dir, `lib/${i}`))
      writeFileSync(join(dir, `lib/${i}/file`), '')
    }
    await expect(relative(['lib/deep'])).rejects.toThrow('lib/deep is mounted in it')
  })
})

test('mount points are read as the kernel writes them', () => {
  const list = '22 1 0:2 / / rw - ext4 a rw\n23 22 0:21 /x /usr/a\\040b rw shared:1 - ext4 /dev/x rw\n'
  expect(mountPoints(list)).toEqual(['/', '/usr/a b'])
})
