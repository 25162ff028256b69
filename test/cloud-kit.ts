import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import scripted from '../src/engines/scripted/index.ts'
import type { Machine } from '../src/sandboxes/local/machine.ts'
import { type ServedModelService, serveModel } from '../src/server/serve-model.ts'
import type { Faults } from './fakes/faults.ts'
import type { Machines } from './fakes/machines.ts'
import { passingSolve, passingTest, writeTask } from './fakes/tasks.ts'

const bin = resolve('bin/ot-agent.js')

/** A cloud's stand-in, as seen by complete commands. */
export interface StandInCloud {
  /** In the form `-e` takes. */
  readonly sandbox: string
  readonly env: Record<string, string>
  readonly machines: Machines
  readonly faults: Faults
  /** The request that starts a sandbox. */
  readonly start: RegExp
  /** The machines of the current sandboxes. */
  readonly running: () => readonly Machine[]
}

/**
 * What a user sees of a cloud: example tasks get their rewards, and a killed run leaves nothing that clean cannot find.
 */
export function cloudTests(cloud: () => StandInCloud): void {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-cloud-'))
  const ot = (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache'), ...cloud().env }
    const child = spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    return {
      child,
      ended: once(child, 'close').then(([status]) => ({ status: status as number | null, stdout, stderr })),
    }
  }
  const run = (job: string, ...args: string[]) =>
    ot('run', '-e', cloud().sandbox, '-o', join(scratch, 'jobs'), '--job-name', job, '--json', ...args)

  let server: ServedModelService
  beforeAll(async () => {
    const options = scripted.options.parse({ tasks: resolve('examples/tasks') })
    const engine = scripted.make(options, { env: {}, stateDir: join(scratch, 'state') })
    server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
  })
  afterAll(() => server.close())

  test.each<[string, () => string[]]>([
    ['oracle', () => []],
    ['terminus-2', () => ['-m', 'scripted', '--api-base', `${server.origin}/v1`]],
  ])('example tasks get full reward from %s', async (agent, model) => {
    const { status, stdout, stderr } = await run(
      agent,
      ...['-a', agent, ...model()],
      ...['-p', 'examples/tasks', '-i', 'csv-to-json', '-i', 'sort-photos', '-n', '2'],
    ).ended
    expect(status, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ totalTrials: 2, ends: { scored: 2, failed: 0, meanOverAll: 1 } })
    expect(cloud().machines.count).toBe(0)
  })

  /** Reached once a program inside has left its mark. */
  const marked = async (path: string) => {
    for (const machine of cloud().running())
      if ((await machine.exec(['test', '-e', path]).catch(() => null))?.exitCode === 0) return true
    return false
  }
  test.each<[string, () => Promise<boolean>]>([
    ['starts its sandbox', async () => cloud().faults.seen.some((at) => cloud().start.test(at))],
    ['has just started it', async () => cloud().running().length > 0],
    ['solves', () => marked('/tmp/solving')],
    ['verifies', () => marked('/tmp/verifying')],
  ])('clean finds what a run left that was killed while it %s', async (phase, reached) => {
    const hold = (path: string, isHere: boolean) => (isHere ? `touch ${path}; sleep 600\n` : '')
    const task = await writeTask(join(scratch, phase), 'task', {
      solve: hold('/tmp/solving', phase === 'solves') + passingSolve,
      test: hold('/tmp/verifying', phase === 'verifies') + passingTest,
    })
    cloud().faults.seen.length = 0
    if (phase === 'starts its sandbox') cloud().faults.add({ when: cloud().start, times: 1, what: { delayMs: 2500 } })
    const { child, ended } = run(phase.replaceAll(' ', '-'), '-a', 'oracle', '-p', task)
    while (!(await reached()) && child.exitCode === null) await wait(10)
    child.kill('SIGKILL')
    await ended
    const cleaned = await ot('clean', '-e', cloud().sandbox, '--json').ended
    expect(JSON.parse(cleaned.stdout || '{}').reaped, cleaned.stderr).toMatchObject([
      { owner: { job: phase.replaceAll(' ', '-') } },
    ])
    expect(cloud().machines.count).toBe(0)
  })
}
