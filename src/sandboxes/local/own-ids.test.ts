import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
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
  expect(firstOwnId('root:3000000000:65536\n')).toBe(3_000_000_000)
  expect(firstOwnId('root:4294950000:65536\n')).toBe(usual)
})

describe('root’s sandboxes', needs('root', 'bwrap', 'unshare'), () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-ids-'))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))
  const environment = plainEnvironment(dir)
  const context = { env: {}, stateDir: dir }

  test('users inside have the host’s ids on request, as on machines without id-mapped mounts', async () => {
    const provider = await local.make({ pids: 64, verify: 'fresh', ids: 'host' }, context)
    await using box = await provider.lease({ owner: { job: 'ids', trial: 'one' }, environment })
    expect((await box.exec(['cat', '/proc/self/uid_map'])).stdout.trim()).toMatch(/^0 +0 /)
    expect(box.facts.startedBy).toBe('shell')
    await box.freeze({ system: 'image' })
    expect((await box.exec(['sh', '-c', 'touch /usr/x && chown 5 /usr/x && stat -c %u /usr/x'])).stdout).toBe('5\n')
  })

  test('sandboxes end with the program that starts them, and another takes its place', async () => {
    const provider = await local.make({ pids: 64, verify: 'fresh' }, context)
    const request = { owner: { job: 'ids', trial: 'one' }, environment }
    const about = (await provider.about?.()) ?? []
    const byStarter = !about.some((line) => line.includes('ids cannot be mapped'))
    const box = await provider.lease(request)
    expect(box.facts.startedBy).toBe(byStarter ? 'starter' : 'shell')
    const running = box.exec(['sleep', '1000'])
    process.kill(starterPid(), 'SIGKILL')
    if (byStarter) {
      await expect(running).rejects.toMatchObject({ boundary: 'sandbox' })
      await expect(box.exec(['true'])).rejects.toMatchObject({ boundary: 'sandbox' })
    }
    await box[Symbol.asyncDispose]()
    await running.catch(() => {})
    await using next = await provider.lease(request)
    expect(await next.exec(['echo', 'here'])).toMatchObject({ exitCode: 0, stdout: 'here\n' })
  })
})

/** The child of this process that starts sandboxes. */
function starterPid(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
  const found = children.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'starter\n')
  return Number(found)
}
