import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { needs } from '../../../test/needs.ts'
import type { SandboxLease } from '../../core/sandbox.ts'
import { loadLease } from '../namespaces/lease-file.ts'
import local from './index.ts'
import { findPrivileges } from './privileges.ts'
import { makeHome } from './workshop.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-first-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))
const isRoot = process.getuid?.() === 0
const ownIds = isRoot ? (await findPrivileges(await makeHome(stateDir))).ownIds : null

describe.skipIf(ownIds === null)('the first process of a sandbox', needs('root', 'bwrap', 'unshare', 'perl'), () => {
  let box: SandboxLease
  beforeAll(async () => {
    const provider = local.make({ pids: 64, verify: 'fresh' }, { env: {}, stateDir })
    box = await provider.lease({ owner: { job: 'first', trial: 'one' }, environment: plainEnvironment(stateDir) })
  })
  afterAll(() => box[Symbol.asyncDispose]())
  const sh = async (script: string) => (await box.exec(['sh', '-c', script])).stdout
  const holder = () => loadLease(join(stateDir, 'local/sandboxes', box.id))?.holder?.pid ?? 0

  test('of the first of many sandboxes is there while most of the others wait', async () => {
    const provider = local.make({ pids: 64, verify: 'fresh' }, { env: {}, stateDir })
    const environment = plainEnvironment(stateDir)
    const count = 20 * availableParallelism()
    const many = Array.from({ length: count }, (_, i) =>
      provider.lease({ owner: { job: 'first', trial: `${i}` }, environment }),
    )
    // Whichever finishes first: under load one may overtake another.
    await Promise.race(many)
    // Not counting the one that was there before: those of this round and the next.
    const started = readdirSync(join(stateDir, 'local/sandboxes')).length - 1
    await Promise.all(many.map(async (lease) => (await lease)[Symbol.asyncDispose]()))
    expect(started).toBeLessThanOrEqual(15 * availableParallelism())
    expect(readdirSync(join(stateDir, 'local/sandboxes'))).toEqual([box.id])
  })

  test('sees an empty directory, holds no file of ours and has few rights, none of them over the host', () => {
    const proc = `/proc/${holder()}`
    expect(readdirSync(`${proc}/root/`)).toEqual([])
    expect(readdirSync(`${proc}/fd`)).toEqual(['0', '1', '2'])
    const status = readFileSync(`${proc}/status`, 'utf8')
    expect(status).toMatch(/^CapPrm:\s+0000000000201020$/m)
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
    expect(status).toMatch(new RegExp(`^Uid:\\s+${ownIds?.first}\\s`, 'm'))
  })

  test('has only those mounts of the host that a command needs on its way in', () => {
    const seen = spawnSync('nsenter', [`--mount=/proc/${holder()}/ns/mnt`, 'cat', '/proc/self/mountinfo'], {
      encoding: 'utf8',
    }).stdout
    expect(seen).toContain(' /proc ')
    expect(seen).not.toMatch(/ \/sys[ /]/)
    expect(seen).toContain(' - overlay ')
  })

  test('shows nothing of itself to programs inside but a name', async () => {
    expect((await sh('tr "\\0" " " < /proc/1/cmdline')).trim()).toBe('sandbox')
    expect(
      await sh('cat /proc/1/mem /proc/1/environ /proc/1/maps; ls /proc/1/root/ /proc/1/fd; readlink /proc/1/cwd'),
    ).toBe('')
  })

  test('stays over a freeze, which leaves no process, no memory segment and no connection of the agent', async () => {
    const before = holder()
    await sh("ipcmk -M 4096; ipcmk -Q; (sleep 1000 &) ; perl -e 'exit 0 if fork; setpgrp; sleep 1000'")
    expect(await sh('ipcs -m | grep -c 0x; ipcs -q | grep -c 0x')).toBe('1\n1\n')
    const network = await sh('readlink /proc/self/ns/net')
    await box.freeze({ system: 'image' })
    expect(holder()).toBe(before)
    expect(
      await sh('ipcs -m | grep -c 0x; ipcs -q | grep -c 0x; grep -lE "sleep|perl" /proc/[0-9]*/comm | wc -l; hostname'),
    ).toMatch(/^0\n0\n0\nsandbox\n$/)
    expect(await sh('readlink /proc/self/ns/net')).not.toBe(network)
    expect((await box.exec(['bash', '-c', ': < /dev/tcp/127.0.0.1/9'])).stderr).toContain('refused')
  })

  test('does not let a command in that was on its way when the sandbox froze', async () => {
    const late = Array.from({ length: 6 }, () => box.exec(['sh', '-c', 'sleep 1000']).catch(() => null))
    await box.freeze({ system: 'image' })
    expect(await sh('grep -l sleep /proc/[0-9]*/comm | wc -l')).toBe('0\n')
    for (const result of await Promise.all(late)) expect(result?.exitCode ?? 137).not.toBe(0)
  })
})
