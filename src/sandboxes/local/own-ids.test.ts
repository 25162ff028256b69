import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { needs } from '../../../test/needs.ts'
import local from './index.ts'
import { firstOwnId } from './own-ids.ts'

test('ids come from root’s range in /etc/subuid, where it holds enough of them', () => {
  expect(firstOwnId('ann:100000:65536\nroot:300000:65536\n')).toBe(300_000)
  const usual = firstOwnId('')
  expect(usual).toBeGreaterThan(1_000_000)
  expect(firstOwnId('root:300000:1000\n')).toBe(usual)
  expect(firstOwnId('root:0:65536\n')).toBe(usual)
})

test.skipIf(process.getuid?.() !== 0)(
  'users inside have the host’s ids where that is asked for, as on machines without id-mapped mounts',
  needs('bwrap', 'unshare'),
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-ids-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const provider = await local.make({ pids: 64, verify: 'fresh', ids: 'host' }, { env: {}, stateDir: dir })
    const environment = plainEnvironment(dir)
    await using box = await provider.lease({ owner: { job: 'ids', trial: 'one' }, environment })
    expect((await box.exec(['cat', '/proc/self/uid_map'])).stdout.trim()).toMatch(/^0 +0 /)
    await box.freeze({ system: 'image' })
    expect((await box.exec(['sh', '-c', 'touch /usr/x && chown 5 /usr/x && stat -c %u /usr/x'])).stdout).toBe('5\n')
  },
)
