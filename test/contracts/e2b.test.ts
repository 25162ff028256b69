import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import e2b from '../../src/sandboxes/e2b/index.ts'
import { E2bStandIn } from '../fakes/e2b/server.ts'
import { needs } from '../needs.ts'
import { standInExceptions } from './exceptions.ts'
import { sandboxContract } from './sandbox.ts'

describe('e2b (on a stand-in)', needs('bwrap'), async () => {
  if (needs('bwrap').skip) return
  const stateDir = mkdtempSync(join(tmpdir(), 'ot-e2b-'))
  const standIn = await E2bStandIn.start()
  afterAll(async () => {
    await standIn.close()
    rmSync(stateDir, { recursive: true, force: true })
  })
  sandboxContract('e2b', {
    cannotRestore: 'E2B keeps no copy of the image beside a machine',
    makeProvider: () => e2b.make(e2b.options.parse({}), { env: standIn.env, stateDir }),
    exceptions: { ...standInExceptions(standIn.machines), 'limits processes': 'E2B does not, and the facts say so' },
  })
})
