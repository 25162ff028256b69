import { afterAll, beforeAll, describe } from 'vitest'
import { cloudTests } from '../cloud-kit.ts'
import { FakeDaytona } from '../fakes/daytona/server.ts'
import { needs } from '../needs.ts'

describe('run and clean with -e daytona', needs('bwrap'), () => {
  let server: FakeDaytona
  beforeAll(async () => {
    server = await FakeDaytona.open()
  })
  afterAll(() => server.close())

  cloudTests(() => ({
    sandbox: 'daytona',
    env: server.env,
    machines: server.machines,
    faults: server.faults,
    start: /^POST \/sandbox$/,
    running: () =>
      [...server.sandboxes.values()].flatMap(({ machine, state }) =>
        machine && state === 'started' ? machine.machine : [],
      ),
  }))
})
