import { existsSync, readFileSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { TrialEventName } from '../../src/core/trial.ts'
import { agentThat, deaf, solver } from '../fakes/agents.ts'
import { agentConfig, jobConfig } from '../fakes/configs.ts'
import { faultyProvider } from '../fakes/faulty-provider.ts'
import { makePlace, openPlace, playJob, recordsOf } from './job-kit.ts'
import { leftovers, provider, withSandboxes } from './kit.ts'

const idle = agentThat(async () => ({ kind: 'finished' }), { name: 'idle' })
const { retry } = jobConfig()

withSandboxes('a job', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('runs attempts, then tasks, then agents, and counts all of them', async () => {
    const place = await makePlace(['a', 'b'])
    const agents = [agentConfig({ name: 'fake' }), agentConfig({ name: 'idle' })]
    const started: string[] = []
    const { result, job } = await playJob(place, {
      config: { agents, nAttempts: 2, nConcurrentTrials: 1 },
      makeAgent: async ({ name }) => (name === 'idle' ? idle : solver),
      watch: {
        started: ({ task, attempt, config }) => void started.push(`${attempt}${task.name}${config.agent.name}`),
      },
    })
    expect(started).toEqual(['0afake', '0aidle', '0bfake', '0bidle', '1afake', '1aidle', '1bfake', '1bidle'])
    const { finishedAt, totalTrials, stats } = result
    expect([finishedAt !== null, totalTrials, stats.completed, stats.errored]).toEqual([true, 8, 8, 0])
    expect([...stats.evals].map(([key, { metrics }]) => [key, metrics[0]?.get('mean')])).toEqual([
      ['fake__letters', 1],
      ['idle__letters', 0],
    ])
    expect(JSON.parse(readFileSync(join(job.dir, 'result.json'), 'utf8')).stats.n_completed_trials).toBe(8)
    expect((await recordsOf(job)).map(({ name }) => name)).toEqual(job.plan.map(({ name }) => name).sort())
  })

  test('has its config, lock and identity on disk before the first trial starts', async () => {
    const place = await makePlace(['a'])
    let there: string[] = []
    const hook = async ({ event }: { event: TrialEventName }) => {
      if (event === 'trial-start') there = await readdir(join(place.jobsDir, 'the-job'))
    }
    await playJob(place, { hooks: [hook] })
    expect(there).toEqual(expect.arrayContaining(['config.json', 'lock.json', 'job.json', 'owner.json']))
  })

  test('runs as many at once as asked, and never more', async () => {
    const place = await makePlace(['a', 'b', 'c', 'd', 'e', 'f'])
    const inside = new Set<string>()
    const seen: number[] = []
    const watch = {
      started: ({ name }: { name: string }) => void seen.push(inside.add(name).size),
      ended: ({ name }: { name: string }) => void inside.delete(name),
    }
    await playJob(place, { config: { nConcurrentTrials: 2 }, watch })
    expect(Math.max(...seen)).toBe(2)
  })

  test('tries again what the world failed, on a fresh sandbox, and keeps what the failed try left', async () => {
    const place = await makePlace(['a'])
    let tries = 0
    const secondTimeLucky = agentThat(async (at) => {
      await at.sandbox.exec(['sh', '-c', 'test -e /before && echo dirty > /logs/agent/dirty; touch /before'])
      if (++tries === 1) throw new Error('first time never works')
      return solver.solve(at)
    })
    const { job, result } = await playJob(place, {
      config: { retry: { ...retry, maxRetries: 2 } },
      makeAgent: async () => secondTimeLucky,
    })
    const [record] = await recordsOf(job)
    expect(record).toMatchObject({ retries: 1, end: { kind: 'scored', rewards: { reward: 1 } } })
    expect(result.stats.retries).toBe(1)
    const dir = join(job.dir, record!.name)
    expect(existsSync(join(dir, 'failed-1.tar.gz'))).toBe(true)
    expect(existsSync(join(dir, 'agent/dirty'))).toBe(false)
  })

  test('does not try again what is excluded, not retryable, or has no tries left', async () => {
    const place = await makePlace(['a', 'b'])
    const broken = agentThat(async () => Promise.reject(new Error('always')))
    const excluded = { ...retry, maxRetries: 5, exclude: ['AgentError'] }
    const { job } = await playJob(place, { config: { retry: excluded }, makeAgent: async () => broken })
    expect((await recordsOf(job)).map(({ retries }) => retries)).toEqual([0, 0])
    const once = await playJob(await makePlace(['a']), {
      config: { retry: { ...retry, maxRetries: 1 } },
      makeAgent: async () => broken,
    })
    expect(await recordsOf(once.job)).toMatchObject([
      { retries: 1, end: { kind: 'failed', failure: { boundary: 'agent' } } },
    ])
  })

  test('continues with the others when one trial fails', async () => {
    const place = await makePlace(['a', 'b', 'c'])
    const faulty = faultyProvider(provider, {
      lease: (request, really) => (request.owner.trial.startsWith('b') ? Promise.reject(new Error('no')) : really()),
    })
    const { liveStats } = await playJob(place, { provider: faulty })
    expect(liveStats.denominators()).toMatchObject({
      scored: 2,
      failed: 1,
      failedByBoundary: { sandbox: 1 },
      meanOverScored: 1,
    })
  })

  test('stopped in the middle leaves cancelled records, and the same job then finishes', async () => {
    const place = await makePlace(['a', 'b', 'c', 'd', 'e'])
    const controller = new AbortController()
    const stopper = agentThat(async (at) => {
      if (at.task.name === 'c') controller.abort()
      return at.task.name < 'c' ? solver.solve(at) : deaf.solve(at)
    })
    const first = await playJob(place, {
      config: { nConcurrentTrials: 1 },
      makeAgent: async () => stopper,
      signal: controller.signal,
    })
    expect(first.result.finishedAt).toBeNull()
    expect((await recordsOf(first.job)).map(({ task, end }) => [task.name, end.kind])).toEqual([
      ['a', 'scored'],
      ['b', 'scored'],
      ['c', 'cancelled'],
    ])
    const ran: string[] = []
    const second = await playJob(place, { watch: { ended: ({ task }) => void ran.push(task.name) } })
    expect(second.job.continued).toBe(true)
    expect(ran.sort()).toEqual(['c', 'd', 'e'])
    expect(second.result).toMatchObject({
      id: first.result.id,
      startedAt: first.result.startedAt,
      stats: { completed: 5, cancelled: 0 },
    })
    expect(second.result.finishedAt).not.toBeNull()
  })

  test('stopped while a trial waits to be tried again cancels that trial', async () => {
    const place = await makePlace(['a'])
    const controller = new AbortController()
    const broken = agentThat(async () => Promise.reject(new Error('always')))
    const { job } = await playJob(place, {
      config: { retry: { ...retry, maxRetries: 1, minWaitSec: 3600, maxWaitSec: 3600 } },
      makeAgent: async () => broken,
      signal: controller.signal,
      watch: { retrying: () => controller.abort() },
    })
    expect(await recordsOf(job)).toMatchObject([{ end: { kind: 'cancelled' } }])
  })

  test('runs failed trials again only when asked', async () => {
    const place = await makePlace(['a', 'b'])
    const broken = agentThat(async (at) => (at.task.name === 'b' ? Promise.reject(new Error('no')) : solver.solve(at)))
    await playJob(place, { makeAgent: async () => broken })
    const unasked = await playJob(place)
    expect(unasked.liveStats.denominators()).toMatchObject({ scored: 1, failed: 1 })
    const asked = await playJob(place, { again: ({ end }) => end.kind === 'failed' })
    expect(asked.liveStats.denominators()).toMatchObject({ scored: 2, failed: 0 })
  })

  test('whose records cannot be written stops, gives every sandbox back and says so', async () => {
    const place = await makePlace(['a', 'b', 'c'])
    const job = await openPlace(place)
    await writeFile(join(job.dir, job.plan[0]!.name), 'in the way')
    await expect(playJob(place, { config: { nConcurrentTrials: 3 } })).rejects.toMatchObject({ boundary: 'store' })
    expect((await recordsOf(job)).every(({ end }) => end.kind !== 'failed')).toBe(true)
  })

  test('works the same with packed files', async () => {
    const place = await makePlace(['a', 'b'])
    const { job } = await playJob(place, { layout: 'packed' })
    expect((await recordsOf(job)).map(({ end }) => end.kind)).toEqual(['scored', 'scored'])
    expect((await playJob(place)).job).toMatchObject({ continued: true, layout: 'packed' })
  })
})
