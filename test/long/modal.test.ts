import { afterAll, beforeAll, describe } from 'vitest'
import { cloudTests } from '../cloud-kit.ts'
import { ModalStandIn } from '../fakes/modal/server.ts'
import { needs } from '../needs.ts'

describe('run and clean with -e modal', needs('bwrap'), () => {
  let standIn: ModalStandIn
  beforeAll(async () => {
    standIn = await ModalStandIn.start()
  })
  afterAll(() => standIn.close())

  cloudTests(() => ({
    sandbox: 'modal',
    env: standIn.env,
    machines: standIn.machines,
    faults: standIn.faults,
    start: /^SandboxCreateV2$/,
    running: () => [...standIn.sandboxes.values()].map(({ owned }) => owned.machine),
  }))
})
