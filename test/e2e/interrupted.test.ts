import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { parseTrajectory } from '../parse-trajectory.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const tasks = resolve('examples/tasks')
let server: ServedModelService

beforeAll(async () => {
  const engine = scripted.make(scripted.options.parse({ tasks, latency_ms: 200 }), { env: {}, stateDir })
  server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
})
afterAll(() => server.close())

withSandboxes('kill -9 while an agent talks to its model', () => {
  test.each(['harbor', 'packed'])('keeps the old conversation next to the rerun trial (%s)', async (layout) => {
    const job = join(scratch, 'jobs', layout)
    const first = start(layout)
    while (turnsIn(layout === 'packed' ? join(job, '.work') : job) < 2) {
      if (first.exitCode !== null) throw new Error('ended too early')
      await wait(10)
    }
    first.kill('SIGKILL')
    await once(first, 'exit')
    const [code] = await once(start(layout), 'exit')
    expect(code).toBe(0)
    if (layout === 'packed') execFileSync(process.execPath, ['bin/ot-agent.js', 'jobs', 'unpack', job])
    const [trial = ''] = readdirSync(job).filter((name) => name.startsWith('csv-to-json__'))
    const died = execFileSync('tar', ['-xzOf', join(job, trial, 'failed-1.tar.gz'), 'agent/trajectory.json'])
    const { steps, notes } = parseTrajectory(died.toString())
    expect(steps.filter(({ source }) => source === 'agent').length).toBeGreaterThan(1)
    expect(notes).toMatch(/interrupted/)
    const whole = parseTrajectory(readFileSync(join(job, trial, 'agent/trajectory.json'), 'utf8'))
    expect(whole.notes).toBeUndefined()
    expect(JSON.parse(readFileSync(join(job, trial, 'record.json'), 'utf8')).resumed).toMatchObject({
      kind: 'replayed',
    })
    expect(JSON.parse(readFileSync(join(job, trial, 'result.json'), 'utf8')).verifier_result.rewards).toEqual({
      reward: 1,
    })
  })
})

function start(layout: string) {
  const model = ['-a', 'terminus-2', '-m', 'scripted', '--api-base', `${server.origin}/v1`]
  const where = ['-o', join(scratch, 'jobs'), '--job-name', layout, '--store', layout, '-q']
  const line = ['bin/ot-agent.js', 'run', '-p', tasks, '-i', '*csv-to-json', ...model, ...where]
  return spawn(process.execPath, line, {
    env: { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') },
    stdio: 'ignore',
  })
}

/** How many replies the model has given in the running trial. */
function turnsIn(dir: string): number {
  const [trial] = existsSync(dir) ? readdirSync(dir).filter((name) => name.startsWith('csv-to-json__')) : []
  const journal = join(dir, trial ?? '', 'agent/trajectory.jsonl')
  return existsSync(journal) ? readFileSync(journal, 'utf8').split('"source":"agent"').length - 1 : 0
}
