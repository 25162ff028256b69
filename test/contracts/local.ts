import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { SandboxLease, SandboxProvider } from '../../src/core/sandbox.ts'
import { ControlGroups } from '../../src/lib/control-group.ts'
import { signalProcess } from '../../src/lib/spawn-process.ts'
import local from '../../src/sandboxes/local/index.ts'
import { findPrivileges, missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { makeHome } from '../../src/sandboxes/local/workshop.ts'
import { loadLease } from '../../src/sandboxes/namespaces/lease-file.ts'
import { whyNoUplink } from '../needs.ts'
import { allowlistLaw } from './allowlist.ts'
import { plainEnvironment } from './environment.ts'
import { processExceptions, programsInside } from './exceptions.ts'
import { ownIdsLaw, ownNetworkLaw, sandboxContract } from './sandbox.ts'

/**
 * The laws of local sandboxes. Root's sandboxes start in the starter if users inside can have their own IDs, otherwise
 * in a shell.
 */
export async function localContract(ids: 'own' | 'host'): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'ot-local-'))
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))
  const groups = missingPrograms().length > 0 ? null : ControlGroups.find(`ot-agent-contract-${process.pid}`)
  groups?.removeParent()
  const privileges = missingPrograms().length > 0 ? null : await findPrivileges(await makeHome(stateDir), { ids })
  const manyUsers = privileges === null || privileges.manyUsers
  const rootIsRoot = privileges?.mode === 'root' && privileges.ownIds === null
  const noUplink = whyNoUplink()
  const exceptions = {
    ...programsInside,
    ...(!groups?.enforces.memory && { 'limits memory': 'no control groups for this user' }),
    ...processExceptions(groups?.enforces.pids === true),
    ...(noUplink !== null && { [ownNetworkLaw]: noUplink }),
    ...(rootIsRoot && { [ownIdsLaw]: 'no id-mapped mounts here' }),
    ...(!manyUsers && { 'runs commands as the user asked for': 'no subordinate ids for this user' }),
  }
  const makeProvider = () => local.make({ pids: 512, verify: 'fresh', ids }, { env: {}, stateDir })
  const dirOf = ({ id }: SandboxLease) => join(stateDir, 'local/sandboxes', id)
  const takeAway = {
    'its first process is killed': (box: SandboxLease) =>
      void signalProcess(loadLease(dirOf(box))?.holder?.pid ?? 0, 'SIGKILL'),
    // As another process might do it, which sees files but not the mounts.
    'its files are removed': (box: SandboxLease) => rmSync(dirOf(box), { recursive: true, force: true }),
  }
  sandboxContract(`local, ids=${ids}`, { makeProvider, exceptions, takeAway })
  allowlistLaw(makeProvider)
  manyLayersLaw(makeProvider, stateDir)
  sharedMemoryLaw(makeProvider, stateDir)
  logsLaw(makeProvider, stateDir)
}

/** A mount's options name every layer, and newer mount programs accept shorter options than the kernel does. */
function manyLayersLaw(makeProvider: () => SandboxProvider, stateDir: string): void {
  test('starts from an image of many layers', async () => {
    const context = mkdtempSync(join(stateDir, 'layers-'))
    writeFileSync(join(context, 'Dockerfile'), `FROM debian:12-slim\n${'RUN echo again >> /said\n'.repeat(12)}`)
    const owner = { job: 'layers', trial: 'one' }
    await using box = await makeProvider().lease({ owner, environment: plainEnvironment(context) })
    expect((await box.exec(['wc', '-l', '/said'])).stdout).toMatch(/^12 /)
  })
}

/** A program may close its directory to everyone, and then an ordinary user cannot even look into it. */
function sharedMemoryLaw(makeProvider: () => SandboxProvider, stateDir: string): void {
  test('a freeze leaves another /dev/shm, whatever a program made of the one before', async () => {
    const environment = plainEnvironment(mkdtempSync(join(stateDir, 'shm-')))
    await using box = await makeProvider().lease({ owner: { job: 'shm', trial: 'one' }, environment })
    const sh = async (script: string) => (await box.exec(['sh', '-c', script])).stdout.trim()
    const look = () => sh('stat -c "%a %u" /dev/shm; ls -A /dev/shm 2>&1')
    expect(await look()).toBe('1777 0')
    for (const damage of ['chown 1000 /dev/shm; chmod 700 /dev/shm', 'echo secret > /dev/shm/file; chmod 0 /dev/shm']) {
      await sh(damage)
      expect(await look()).not.toBe('1777 0')
      await box.freeze({})
      expect(await look()).toBe('1777 0')
    }
  })
}

/** Users inside have other IDs outside, and only root inside may change their files. */
function logsLaw(makeProvider: () => SandboxProvider, stateDir: string): void {
  test('a freeze keeps logs in a directory that a program gave to another user', async () => {
    const environment = plainEnvironment(mkdtempSync(join(stateDir, 'logs-')))
    await using box = await makeProvider().lease({ owner: { job: 'logs', trial: 'one' }, environment })
    await box.exec(['sh', '-c', 'echo kept > /logs/agent/said; chown 1000 /logs/agent'])
    await box.freeze({})
    expect((await box.exec(['cat', '/logs/agent/said'])).stdout).toBe('kept\n')
  })
}
