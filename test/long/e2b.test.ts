import { afterAll, beforeAll, describe } from 'vitest'
import { cloudTests } from '../cloud-kit.ts'
import { E2bStandIn } from '../fakes/e2b/server.ts'
import { needs } from '../needs.ts'

describe('run and clean with -e e2b', needs('bwrap'), () => {
  let standIn: E2bStandIn
  beforeAll(async () => {
    standIn = await E2bStandIn.start()
  })
  afterAll(() => standIn.close())

  cloudTests(() => ({
    sandbox: 'e2b',
    env: standIn.env,
    machines: standIn.machines,
    faults: standIn.faults,
    start: /^POST \/v2\/sandboxes$/,
    running: () => [...standIn.control.sandboxes.values()].map(({ owned }) => owned.machine),
  }))
})
