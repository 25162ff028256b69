import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { BoundaryError } from '../../src/core/errors.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import type { OpenedJob } from '../../src/run/job/open-job.ts'
import { noPrefetch, type PrefetchSettings } from '../../src/run/prefetch.ts'
import { agentThat, solver } from '../fakes/agents.ts'
import { agentConfig } from '../fakes/configs.ts'
import { faultyProvider } from '../fakes/faulty-provider.ts'
import { playedClient } from '../fakes/model-client.ts'
import { alike, makePlace, playJob, recordsOf } from './job-kit.ts'
import { leftovers, provider, scratch, withSandboxes } from './kit.ts'

const roomy = { cpus: 1000, memoryMb: 1_000_000 }
const two: PrefetchSettings = { sandboxes: 2, builds: 2, limit: roomy, imageKey: alike }

/** Records which trials asked for a sandbox while the first one waited for its model. */
function watched(real: SandboxProvider) {
  const asked: string[] = []
  const waiting: (() => void)[] = []
  const lease: NonNullable<Parameters<typeof faultyProvider>[1]['lease']> = (request, really) => {
    asked.push(request.owner.trial.split('__')[0] ?? '')
    for (const wake of waiting.splice(0)) wake()
    return really()
  }
  const until = async (count: number) => {
    while (asked.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
  }
  return { asked, until, provider: faultyProvider(real, { lease }) }
}

/** Asks its model, then runs `meanwhile`, then solves the task. */
const asking = (meanwhile: (name: string) => Promise<void>) =>
  agentThat(async (at) => {
    await at.client?.complete({ messages: [] })
    await meanwhile(at.task.name)
    return solver.solve(at)
  })

/** The trials whose sandbox was prefetched. */
async function startedAhead(job: OpenedJob): Promise<string[]> {
  const names = (await recordsOf(job)).map(({ name }) => name)
  const isAhead = (name: string) => readFileSync(join(job.dir, name, 'trial.log'), 'utf8').includes('was prefetched')
  return names.filter(isAhead).map((name) => name.split('__')[0] ?? '')
}

const oneAtOnce = { nConcurrentTrials: 1, agents: [agentConfig({ name: 'fake' })] }
const clientFor = () => playedClient(['yes'])

withSandboxes('sandboxes started ahead', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('start while a trial waits for its model, up to a limit, and are the ones their trials use', async () => {
    const place = await makePlace(['a', 'b', 'c', 'd'])
    const { asked, until, provider: watching } = watched(provider)
    let atFirst: string[] = []
    const makeAgent = async () =>
      asking(async (name) => {
        if (name !== 'a') return
        await until(3)
        atFirst = [...asked]
      })
    const { job } = await playJob(place, { config: oneAtOnce, makeAgent, clientFor, provider: watching, prefetch: two })
    // The order of the prefetched ones is a matter of chance.
    expect(atFirst[0]).toBe('a')
    expect(atFirst.sort()).toEqual(['a', 'b', 'c'])
    expect(asked.sort()).toEqual(['a', 'b', 'c', 'd'])
    expect(await startedAhead(job)).toEqual(['b', 'c', 'd'])
    const records = await recordsOf(job)
    expect(records.map(({ end }) => end.kind === 'scored' && end.rewards?.reward)).toEqual([1, 1, 1, 1])
  })

  test('have the tools of their agent', async () => {
    const place = await makePlace(['a', 'b'], { solve: 'true' })
    const tools = await mkdtemp(join(scratch, 'tools-'))
    await writeFile(join(tools, 'tool'), 'a tool')
    const { asked, until, provider: watching } = watched(provider)
    const makeAgent = async () => ({
      ...asking(async () => until(2)),
      toolDirs: async () => [{ source: tools, target: '/my-tools' }],
    })
    const { job } = await playJob(place, { config: oneAtOnce, makeAgent, clientFor, provider: watching, prefetch: two })
    expect(asked).toEqual(['a', 'b'])
    expect(await startedAhead(job)).toEqual(['b'])
  })

  test('are none where no agent has a model', async () => {
    const place = await makePlace(['a', 'b'])
    const { asked, provider: watching } = watched(provider)
    const makeAgent = async () => asking(async () => {})
    const { job } = await playJob(place, { config: oneAtOnce, makeAgent, provider: watching, prefetch: two })
    expect(asked).toEqual(['a', 'b'])
    expect(await startedAhead(job)).toEqual([])
  })

  test('are none where processors or memory do not reach', async () => {
    for (const limit of [
      { ...roomy, cpus: 1 },
      { ...roomy, memoryMb: 4095 },
    ]) {
      const place = await makePlace(['a', 'b'])
      const { asked, provider: watching } = watched(provider)
      const makeAgent = async () => asking(async () => {})
      const prefetch = { ...two, limit }
      const { job } = await playJob(place, { config: oneAtOnce, makeAgent, clientFor, provider: watching, prefetch })
      expect(asked).toEqual(['a', 'b'])
      expect(await startedAhead(job)).toEqual([])
    }
  })

  test('are released when the job is stopped', async () => {
    const place = await makePlace(['a', 'b', 'c'])
    const stop = new AbortController()
    const { asked, until, provider: watching } = watched(provider)
    const makeAgent = async () =>
      asking(async () => {
        await until(3)
        stop.abort()
      })
    const play = { config: oneAtOnce, makeAgent, clientFor, provider: watching, prefetch: two, signal: stop.signal }
    const { job } = await playJob(place, play)
    expect(asked[0]).toBe('a')
    expect(asked.sort()).toEqual(['a', 'b', 'c'])
    expect((await recordsOf(job)).map(({ end }) => end.kind)).toEqual(['cancelled'])
  })

  test('are replaced when they broke before their trial, or never started', async () => {
    const place = await makePlace(['a', 'b', 'c'])
    const seen: string[] = []
    let isAhead = false
    const breaking = faultyProvider(provider, {
      lease: async ({ owner }, really) => {
        const name = owner.trial.split('__')[0] ?? ''
        seen.push(name)
        const breaks = isAhead
        if (breaks && name === 'c') throw new BoundaryError('sandbox', 'not today')
        const lease = await really()
        if (breaks && name === 'b') await lease[Symbol.asyncDispose]()
        return lease
      },
    })
    const makeAgent = async () =>
      agentThat(async (at) => {
        if (at.task.name === 'a') {
          isAhead = true
          await at.client?.complete({ messages: [] })
          while (seen.length < 3) await at.sandbox.exec(['true'])
          isAhead = false
        }
        return solver.solve(at)
      })
    const { job } = await playJob(place, { config: oneAtOnce, makeAgent, clientFor, provider: breaking, prefetch: two })
    expect(seen.sort()).toEqual(['a', 'b', 'b', 'c', 'c'])
    const records = await recordsOf(job)
    expect(records.map(({ end }) => end.kind === 'scored' && end.rewards?.reward)).toEqual([1, 1, 1])
  })
})

withSandboxes('environments built ahead', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  /** The local provider, with builds that the test can observe and hold up. */
  function building(prepare: (dir: string) => Promise<void>): SandboxProvider {
    return { ...faultyProvider(provider, {}), prepare: async ({ dir }) => prepare(dir) }
  }

  test('take no trial’s slot: those behind them run meanwhile', async () => {
    const place = await makePlace(['a', 'b'])
    const ends: string[] = []
    let finish = () => {}
    const bIsDone = new Promise<void>((resolve) => {
      finish = resolve
    })
    await playJob(place, {
      config: { nConcurrentTrials: 1 },
      provider: building((dir) => (dir.includes('/a/') ? bIsDone : Promise.resolve())),
      prefetch: noPrefetch,
      watch: {
        ended: ({ task }) => {
          ends.push(task.name)
          finish()
        },
      },
    })
    expect(ends).toEqual(['b', 'a'])
  })

  test('are built once for all trials that need the same image, and not at all for those that need none', async () => {
    const place = await makePlace(['a', 'b', 'c', 'none'])
    const built: string[] = []
    const imageKey = async ({ dir }: { dir: string }) => (dir.includes('/none/') ? null : 'the image')
    await playJob(place, {
      config: { nAttempts: 2 },
      provider: building(async (dir) => void built.push(dir)),
      prefetch: { ...two, imageKey },
    })
    expect(built).toHaveLength(1)
    expect(built[0]).not.toContain('/none/')
  })

  test('that cannot be built fail their trials with the reason, and a retry may still make it', async () => {
    const place = await makePlace(['a'])
    const failing = building(() => Promise.reject(new BoundaryError('sandbox', 'the registry is down')))
    const { job } = await playJob(place, { provider: failing })
    expect((await recordsOf(job))[0]?.end).toMatchObject({
      kind: 'failed',
      failure: { boundary: 'sandbox', message: 'the registry is down', retryable: true },
    })
    const again = await makePlace(['a'])
    const retry = { maxRetries: 1, include: null, exclude: [], waitMultiplier: 1, minWaitSec: 0, maxWaitSec: 0 }
    const second = await playJob(again, { provider: failing, config: { retry } })
    expect((await recordsOf(second.job))[0]).toMatchObject({ retries: 1, end: { kind: 'scored' } })
    expect(existsSync(second.job.dir) && readdirSync(second.job.dir)).toContain('result.json')
  })

  test('use the real builder of the local sandbox, whose image the trial then starts from', async () => {
    const files = { 'environment/Dockerfile': 'FROM debian:12\nRUN echo built > /built\n' }
    const place = await makePlace(['a', 'b'], { files, solve: 'test -e /built && echo 42 > /answer' })
    const makeAgent = async () =>
      agentThat(async (at) => {
        await at.sandbox.exec(['sh', '-c', 'test -e /built && echo 42 > /answer'])
        return { kind: 'finished' }
      })
    const { job } = await playJob(place, { makeAgent, prefetch: two })
    const records = await recordsOf(job)
    expect(records.map(({ end }) => end.kind === 'scored' && end.rewards?.reward)).toEqual([1, 1])
  })
})
