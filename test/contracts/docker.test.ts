import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { removeSandbox } from '../../src/sandboxes/containers/reap.ts'
import plugin from '../../src/sandboxes/docker.ts'
import { baseImage, makeBase, startEngine, type TestEngine, whyNotEngine } from '../container-engine.ts'
import '../needs.ts'
import { allowlistLaw } from './allowlist.ts'
import { engineIds, noQuota } from './exceptions.ts'
import { sandboxContract } from './sandbox.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-docker-state-'))
const skipReason = whyNotEngine('docker')

describe('an engine of our own', { skip: skipReason !== null, meta: skipReason === null ? {} : { skipReason } }, () => {
  let engine: TestEngine
  beforeAll(async () => {
    engine = await startEngine('docker')
    await makeBase(engine.engine)
  })
  afterAll(async () => {
    await engine.stop()
    rmSync(stateDir, { recursive: true, force: true })
  })

  const makeProvider = () => {
    const options = plugin.options.parse({ socket: engine.socket, base: baseImage, pids: 512 })
    return plugin.make(options, { env: {}, stateDir })
  }
  sandboxContract('docker', {
    makeProvider,
    room: '/logs/agent',
    exceptions: { ...noQuota, ...engineIds },
    takeAway: { 'its container is removed': (box) => removeSandbox(engine.engine, box.id) },
  })
  allowlistLaw(makeProvider)
})
