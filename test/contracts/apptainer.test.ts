import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { findProgram } from '../../src/lib/programs.ts'
import apptainer from '../../src/sandboxes/apptainer/index.ts'
import '../needs.ts'
import { allowlistLaw } from './allowlist.ts'
import { sandboxContract } from './sandbox.ts'

/** No registry is asked in tests: an image is a .sif file or a directory that whoever runs them has. */
const image = process.env.OT_AGENT_TEST_APPTAINER_IMAGE ?? ''
const program = findProgram('apptainer') ?? findProgram('singularity')
const skipReason =
  program === null
    ? 'needs apptainer or singularity, not found on this machine'
    : existsSync(image)
      ? null
      : 'needs an image: OT_AGENT_TEST_APPTAINER_IMAGE=FILE.sif'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-apptainer-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

describe('apptainer', { skip: skipReason !== null, meta: skipReason === null ? {} : { skipReason } }, () => {
  const makeProvider = () => apptainer.make({ image, pids: 512 }, { env: {}, stateDir })
  sandboxContract('apptainer', { makeProvider })
  allowlistLaw(makeProvider)
})
