import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import { ControlGroups } from '../../src/lib/control-group.ts'
import { findProgram } from '../../src/lib/programs.ts'
import apptainer from '../../src/sandboxes/apptainer/index.ts'
import { withBaseFiles } from '../container-engine.ts'
import '../needs.ts'
import { allowlistLaw } from './allowlist.ts'
import { programsInside } from './exceptions.ts'
import { ownNetworkLaw, sandboxContract } from './sandbox.ts'

/** The one that scripts/setup-apptainer.mjs got for the tests, unless this machine has its own. */
const gotten = resolve('node_modules/.cache/apptainer/usr/bin/apptainer')
const program = findProgram('apptainer') ?? findProgram('singularity') ?? (existsSync(gotten) ? gotten : null)
const isRoot = process.getuid?.() === 0
const skipReason = program === null ? 'needs apptainer or singularity, not found on this machine' : null

describe('apptainer', { skip: skipReason !== null, meta: skipReason === null ? {} : { skipReason } }, () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'ot-apptainer-'))
  // An ordinary user can mount a .sif file only where FUSE is open to everyone; a directory needs no mount.
  const image = process.env.OT_AGENT_TEST_APPTAINER_IMAGE ?? join(stateDir, isRoot ? 'base.sif' : 'base')
  beforeAll(async () => {
    if (!existsSync(image)) await buildImage(program ?? '', image, join(stateDir, 'root'))
  }, 120_000)
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

  const { enforces } = ControlGroups.find(`ot-agent-contract-${process.pid}`)
  const exceptions = {
    ...programsInside,
    [ownNetworkLaw]: 'Apptainer has the network of the host or none',
    ...(!enforces.memory && { 'limits memory': 'no control groups for this user' }),
    ...(!enforces.pids && { 'limits processes': 'no control groups for this user' }),
  }
  const makeProvider = () => apptainer.make({ program: program ?? '', image, pids: 512 }, { env: {}, stateDir })
  const takeAway = {
    'its first process is killed': ({ id }: SandboxLease) => {
      const pid = Number(readFileSync(join(stateDir, 'apptainer/sandboxes', id, 'pid'), 'utf8'))
      process.kill(pid, 'SIGKILL')
    },
  }
  sandboxContract('apptainer', { makeProvider, exceptions, takeAway })
  allowlistLaw(makeProvider)
})

/** An image of this machine's own programs: no registry is asked in tests. */
async function buildImage(program: string, image: string, root: string): Promise<void> {
  mkdirSync(root)
  await withBaseFiles([], (tar) => writeFile(`${image}.tar`, tar))
  execFileSync('tar', ['-xf', `${image}.tar`, '-C', root])
  await writeFile(`${image}.def`, `Bootstrap: localimage\nFrom: ${root}\n`)
  const form = isRoot ? [] : ['--sandbox', '--fakeroot']
  execFileSync(program, ['build', '--force', ...form, image, `${image}.def`], { stdio: 'pipe' })
}
