import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import modal from '../../src/sandboxes/modal/index.ts'
import { ModalStandIn } from '../fakes/modal/server.ts'
import { needs } from '../needs.ts'
import { standInExceptions } from './exceptions.ts'
import { sandboxContract } from './sandbox.ts'

describe('modal (on a stand-in)', needs('bwrap'), async () => {
  if (needs('bwrap').skip) return
  const stateDir = mkdtempSync(join(tmpdir(), 'ot-modal-'))
  const standIn = await ModalStandIn.start()
  // The package only takes its server's address from the process environment.
  Object.assign(process.env, standIn.env)
  afterAll(async () => {
    for (const name of Object.keys(standIn.env)) Reflect.deleteProperty(process.env, name)
    await standIn.close()
    rmSync(stateDir, { recursive: true, force: true })
  })
  sandboxContract('modal', {
    cannotRestore: 'Modal keeps no copy of the image beside a machine',
    makeProvider: () => modal.make(modal.options.parse({}), { env: standIn.env, stateDir }),
    exceptions: {
      ...standInExceptions(standIn.machines),
      'limits processes': 'Modal does not, and the facts say so',
      'leaves out what lies too deep to copy, and removes it with the rest':
        'the stand-in takes snapshots with cp, which cannot copy a tree that deep',
    },
  })
})
