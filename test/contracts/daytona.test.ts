import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import daytona from '../../src/sandboxes/daytona/index.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { FakeDaytona } from '../fakes/daytona/server.ts'
import { programsInside, standInMachines } from './exceptions.ts'
import { exhaustionLaw, sandboxContract } from './sandbox.ts'
import { storageLawTitle } from './storage-law.ts'

describe.skipIf(missingPrograms().length > 0)('daytona (its stand-in needs bubblewrap)', () => {
  let server: FakeDaytona
  const stateDir = mkdtempSync(join(tmpdir(), 'ot-daytona-'))
  beforeAll(async () => {
    server = await FakeDaytona.open()
  })
  afterAll(async () => {
    await server.close()
    rmSync(stateDir, { recursive: true, force: true })
  })
  sandboxContract('daytona', {
    cannotRestore: 'Daytona keeps no copy of the image beside a machine',
    makeProvider: () => daytona.make(daytona.options.parse({}), { env: server.env, stateDir }),
    exceptions: {
      ...programsInside,
      ...standInMachines,
      [exhaustionLaw]: 'the cloud’s stand-in runs in the test’s own process',
      [storageLawTitle]: 'Daytona sells disk by the gigabyte',
      'limits memory': 'Daytona sells memory by the gigabyte',
      'limits processes': 'Daytona has no limit on processes',
    },
  })
})
