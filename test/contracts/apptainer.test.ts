import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import { ControlGroups } from '../../src/lib/control-group.ts'
import apptainer from '../../src/sandboxes/apptainer/index.ts'
import { apptainerProgram, buildApptainerImage, whyNotApptainer } from '../apptainer-kit.ts'
import '../needs.ts'
import { allowlistLaw } from './allowlist.ts'
import { engineIds, noQuota, processExceptions, programsInside } from './exceptions.ts'
import { ownNetworkLaw, sandboxContract } from './sandbox.ts'

const isRoot = process.getuid?.() === 0
const skipReason = whyNotApptainer

describe('apptainer', { skip: skipReason !== null, meta: skipReason === null ? {} : { skipReason } }, () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'ot-apptainer-'))
  // An ordinary user can mount a .sif file only if FUSE is open to everyone; a directory needs no mount.
  const image = process.env.OT_AGENT_TEST_APPTAINER_IMAGE ?? join(stateDir, isRoot ? 'base.sif' : 'base')
  beforeAll(async () => {
    if (!existsSync(image)) await buildApptainerImage(image, join(stateDir, 'root'))
  })
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

  const groups = ControlGroups.find(`ot-agent-contract-${process.pid}`)
  groups.removeParent()
  const { enforces } = groups
  const exceptions = {
    ...engineIds,
    ...programsInside,
    ...noQuota,
    [ownNetworkLaw]: 'Apptainer has the network of the host or none',
    ...(!enforces.memory && { 'limits memory': 'no control groups for this user' }),
    ...processExceptions(enforces.pids),
  }
  const makeProvider = () =>
    apptainer.make({ program: apptainerProgram ?? '', image, pids: 512 }, { env: {}, stateDir })
  const takeAway = {
    'its files are removed and its first process is killed': ({ id }: SandboxLease) => {
      const dir = join(stateDir, 'apptainer/sandboxes', id)
      const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
      rmSync(dir, { recursive: true })
      process.kill(pid, 'SIGKILL')
    },
  }
  sandboxContract('apptainer', { makeProvider, exceptions, takeAway })
  allowlistLaw(makeProvider)
})
