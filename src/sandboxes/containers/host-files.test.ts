import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { copyFromHost, placeOf } from './host-files.ts'
import '../../../test/needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-host-files-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const isRoot = process.getuid?.() === 0
const meta = isRoot ? {} : { skipReason: 'needs root, who may read the files of every user' }
const rules = { links: 'inside', onRefused: 'drop', existing: 'merge' } as const

describe('the place of a path', () => {
  const kept = {
    merged: '/store/merged',
    mounts: ['/logs/verifier', '/tools', '/data'],
    volumes: new Map([
      ['/logs/verifier', '/store/verifier/_data'],
      ['/data', '/store/data/_data'],
    ]),
  }

  test.each([
    ['/logs/agent', { root: '/store/merged', names: ['logs', 'agent'] }],
    ['/logs/agent/', { root: '/store/merged', names: ['logs', 'agent'] }],
    ['/logs/verifier', { root: '/store/verifier/_data', names: [] }],
    ['/data/deep/er', { root: '/store/data/_data', names: ['deep', 'er'] }],
    ['/database', { root: '/store/merged', names: ['database'] }],
  ])('%s is in one directory', (path, place) => expect(placeOf(kept, path)).toEqual(place))

  test.each(['/', '/logs', '/tools', '/tools/bin', '/etc', '/run', '/proc/1', '/dev', 'logs/agent', '/logs/../etc/x'])(
    '%s is for the engine to read',
    (path) => expect(placeOf(kept, path)).toBeNull(),
  )

  test('is for the engine to read where it does not say where its files are', () => {
    expect(placeOf({ ...kept, merged: null }, '/logs/agent')).toBeNull()
  })
})

describe('a directory of a container on this machine', { skip: !isRoot, meta }, () => {
  const merged = join(scratch, 'merged')
  const kept = { merged, mounts: [], volumes: new Map<string, string>() }
  mkdirSync(join(merged, 'logs/agent/sub'), { recursive: true })
  writeFileSync(join(merged, 'logs/agent/sub/said'), 'hello')
  symlinkSync('/etc', join(merged, 'logs/agent/out'))
  symlinkSync('agent', join(merged, 'logs/link'))
  symlinkSync(join(scratch, 'host'), join(merged, 'elsewhere'))
  mkdirSync(join(scratch, 'host/agent'), { recursive: true })

  test('is copied, without links that lead out of it', async () => {
    const target = join(scratch, 'copy')
    expect(await copyFromHost(kept, '/logs/agent', target, rules)).toBe(true)
    expect(readFileSync(join(target, 'sub/said'), 'utf8')).toBe('hello')
    expect(existsSync(join(target, 'out'))).toBe(false)
  })

  test.each(['/logs/link', '/elsewhere/agent', '/logs/absent', '/logs/agent/sub/said'])(
    '%s is left to the engine: the path has a link, or leads to no directory',
    async (path) => {
      const target = join(scratch, 'left')
      expect(await copyFromHost(kept, path, target, rules)).toBe(false)
      expect(existsSync(target)).toBe(false)
    },
  )

  test('is left to the engine where we are not root', async () => {
    const someone = vi.spyOn(process, 'getuid').mockReturnValue(1000)
    try {
      expect(await copyFromHost(kept, '/logs/agent', join(scratch, 'never'), rules)).toBe(false)
    } finally {
      someone.mockRestore()
    }
  })

  test('that is too large is a failure, not for the engine to try again', async () => {
    const copying = copyFromHost(kept, '/logs/agent', join(scratch, 'large'), { ...rules, limitBytes: 4 })
    await expect(copying).rejects.toThrow('more than 4 bytes')
  })
})
