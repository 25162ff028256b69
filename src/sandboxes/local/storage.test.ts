import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import type { SandboxLease } from '../../core/sandbox.ts'
import { ControlGroups } from '../../lib/control-group.ts'
import { missingPrograms } from './privileges.ts'
import { makeLocal } from './provider.ts'
import { Storage } from './storage.ts'

const mb = 2 ** 20

describe('a limit on disk space', () => {
  const open = (limitMb: number, taken: () => number | null) => {
    const stops: number[] = []
    const measure = async () => taken()
    const stop = async () => void stops.push(1)
    return { storage: new Storage({ limitMb, home: tmpdir(), measure, stop }), stops }
  }

  test('is met by the first look that finds too much, and stops commands then and at every later look', async () => {
    let taken: number | null = 10 * mb
    const { storage, stops } = open(10, () => taken)
    await storage.look()
    taken = null
    await storage.look()
    expect([storage.message, stops]).toEqual([null, []])
    taken = 10 * mb + 1
    await storage.look()
    await storage.look()
    expect(storage.message).toBe('its programs used 11 MB of disk, but storage_mb = 10')
    expect(stops).toHaveLength(2)
  })

  test('leaves some room after a freeze, and not more after another', async () => {
    let taken = 9000 * mb
    const { storage, stops } = open(8000, () => taken)
    await storage.look()
    const { full } = storage
    await storage.renew()
    await storage.renew()
    expect([full.aborted, storage.full.aborted]).toEqual([true, false])
    taken += 1024 * mb
    await storage.look()
    expect(storage.message).toBe(null)
    taken += 1
    await storage.look()
    expect(storage.message).toContain('storage_mb = 8000')
    expect(stops).toHaveLength(2)
  })

  test('is looked at the sooner the less is left, and at once when the disk lost that much', async () => {
    let taken = 0
    const { storage } = open(10_000, () => taken)
    storage.watch()
    const free = () => Number.MAX_SAFE_INTEGER
    const isDue = (sec: number, freeBytes = free()) => storage.isDue(performance.now() + sec * 1000, freeBytes)
    expect([isDue(5), isDue(25), isDue(5, -10_000 * mb)]).toEqual([false, true, true])
    taken = 9_000 * mb
    await storage.look()
    expect([isDue(1), isDue(5)]).toEqual([false, true])
    storage.unwatch()
  })
})

const groups = missingPrograms().length > 0 ? null : ControlGroups.find(`ot-agent-storage-${process.pid}`)

describe.skipIf(groups === null)('a local sandbox (needs bubblewrap)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-storage-'))
  let box: SandboxLease
  beforeAll(async () => {
    const provider = makeLocal({ pids: 512, verify: 'fresh' }, { env: {}, stateDir: dir })
    const environment = plainEnvironment(dir, { storageMb: 64 })
    box = await provider.lease({ owner: { job: 'storage', trial: 'test' }, environment })
  })
  afterAll(async () => {
    await box[Symbol.asyncDispose]()
    groups?.removeParent()
    rmSync(dir, { recursive: true, force: true })
  })
  const sh = (script: string) => box.exec(['bash', '-c', script])
  const empty = async (path: string) => {
    await sh(`rm -rf ${path}`)
    await isFull()
  }
  const isFull = async () => {
    if (box.storage instanceof Storage) await box.storage.look()
    const full = box.storage?.full.aborted
    await box.freeze()
    return full
  }

  test('counts blocks, hard links once, and large trees too', async () => {
    await sh('mkdir /srv/d && truncate -s 1T /srv/d/hole && head -c 30M /dev/zero > /srv/d/a && ln /srv/d/a /srv/d/b')
    await sh(
      'cd /srv/d && seq 1000 | xargs touch && mkdir -p closed/x && chmod 0 closed && printf x > $(printf "\\\\xff")',
    )
    expect(await isFull()).toBe(false)
    await sh('head -c 40M /dev/zero > /srv/d/c')
    expect(await isFull()).toBe(true)
    await empty('/srv/d')
  })

  test('counts empty files, which use up inodes', async () => {
    await sh('mkdir /srv/e && cd /srv/e && seq 5000 | xargs touch')
    expect(await isFull()).toBe(false)
    await sh('cd /srv/e && seq 20000 | xargs touch')
    expect(await isFull()).toBe(true)
    await empty('/srv/e')
  })

  test('counts /dev/shm and /logs', async () => {
    await sh('head -c 40M /dev/zero > /dev/shm/x; head -c 40M /dev/zero > /logs/agent/x')
    expect(await isFull()).toBe(true)
    await empty('/logs/agent/x')
  })

  test.skipIf(!groups?.enforces.pids)(
    'counts files without a name that programs hold open (needs control groups)',
    async () => {
      const held = 'exec 5<>/srv/gone && rm /srv/gone && head -c 80M /dev/zero >&5; sleep 600'
      await sh(
        `touch /srv/gone; nohup bash -c '${held}' > /dev/null 2>&1 & while ! ls -sL /proc/*/fd/5 2>/dev/null | grep -q "^819"; do sleep 0.02; done`,
      )
      expect(await isFull()).toBe(true)
      expect((await sh('echo room')).stdout).toBe('room\n')
    },
  )
})
