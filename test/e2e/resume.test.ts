import { cp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UserError } from '../../src/core/errors.ts'
import { openTrialStore } from '../../src/store/open-store.ts'
import { agentConfig } from '../fakes/configs.ts'
import { writeTask } from '../fakes/tasks.ts'
import { readTree } from '../trees.ts'
import { makePlace, openPlace, type Place, playJob, recordsOf } from './job-kit.ts'
import { withSandboxes } from './kit.ts'

withSandboxes('resuming a job', () => {
  test('from any mixture of finished, half-done and missing trials gives every trial once and keeps the finished ones', async () => {
    const place = await makePlace(['a', 'b'])
    const config = { nAttempts: 2, nConcurrentTrials: 4 }
    const { job } = await playJob(place, { config })
    const before = new Map((await recordsOf(job)).map(({ name, id }) => [name, id]))
    const pristine = join(place.tasksDir, '..', 'pristine')
    await cp(job.dir, pristine, { recursive: true })
    const fates = fc.array(fc.constantFrom('kept', 'half', 'cancelled', 'gone'), { minLength: 4, maxLength: 4 })
    const property = fc.asyncProperty(fates, async (chosen) => {
      await rm(job.dir, { recursive: true })
      await cp(pristine, job.dir, { recursive: true })
      const fateOf = (name: string) => chosen[job.plan.findIndex((trial) => trial.name === name)] ?? 'kept'
      await meetFates(job.dir, fateOf)
      const { result } = await playJob(place, { config })
      const after = await recordsOf(job)
      expect(after.map(({ name }) => name)).toEqual([...before.keys()])
      expect(result).toMatchObject({ finishedAt: expect.any(String), stats: { completed: 4, cancelled: 0 } })
      for (const { name, id } of after) expect(id === before.get(name)).toBe(fateOf(name) === 'kept')
    })
    await fc.assert(property, { numRuns: 8 })
  })

  test('twice does nothing the second time', async () => {
    const place = await makePlace(['a'])
    const { job } = await playJob(place)
    const before = await recordsOf(job)
    let started = 0
    await playJob(place, { watch: { started: () => void started++ } })
    expect(started).toBe(0)
    expect(await recordsOf(job)).toEqual(before)
  })

  test('whose trials have all ended asks for no sandbox, agent or model, and has the same result', async () => {
    const place = await makePlace(['a', 'b'])
    const config = { nConcurrentTrials: 1 }
    const first = await playJob(place, { config })
    const again = await playJob(place, { config, onParts: refuse })
    expect(again.result.stats).toEqual(first.result.stats)
    expect(again.result.finishedAt).not.toBeNull()
  })

  test('that cannot run is left as it was', async () => {
    const place = await makePlace(['a', 'b'])
    const { job } = await playJob(place)
    await meetFates(job.dir, (name) => (name.startsWith('a') ? 'cancelled' : 'kept'))
    const before = await readTree(job.dir)
    await expect(playJob(place, { onParts: refuse, config: { nConcurrentTrials: 9 } })).rejects.toThrow('no sandbox')
    expect(await readTree(job.dir)).toEqual(before)
  })

  test('does not mind another concurrency, quietness, retries or spelling of paths', async () => {
    const place = await makePlace(['a'])
    await playJob(place)
    const respelt: Place = { ...place, tasksDir: join(place.tasksDir, '..', basename(place.tasksDir)) }
    const config = { nConcurrentTrials: 9, quiet: true, debug: true }
    expect((await openPlace(respelt, { config })).continued).toBe(true)
  })

  test('with a changed task, agent or model is refused by name', async () => {
    const place = await makePlace(['a', 'b'])
    const { dir } = await openPlace(place)
    const refusal = (changes: Parameters<typeof openPlace>[1]) =>
      openPlace(place, changes).then(() => null, messageOfUserError)
    expect(await refusal({ config: { agents: [agentConfig({ name: 'nop' })] } })).toContain('agent was oracle, is nop')
    expect(await refusal({ config: { agents: [agentConfig({ modelName: 'x/y' })] } })).toContain(
      'modelName was null, is "x/y"',
    )
    await writeTask(place.tasksDir, 'b', { files: { 'README.md': 'changed' } })
    expect(await refusal({})).toMatch(/task "b" changed: digest was [0-9a-f]{12}…, is [0-9a-f]{12}…/)
    expect((await recordsOf({ dir, layout: 'harbor' })).length).toBe(0)
  })

  test('without a name continues the newest interrupted equal job, never a finished or a running one', async () => {
    const place = await makePlace(['a'])
    const stopped = new AbortController()
    stopped.abort()
    const first = await playJob(place, { named: false, signal: stopped.signal })
    const second = await playJob(place, { named: false })
    expect(second.job).toMatchObject({ dir: first.job.dir, continued: true })
    const third = await playJob(place, { named: false })
    expect(third.job.continued).toBe(false)
    expect(third.job.dir).not.toBe(first.job.dir)
  })

  test('that another process still runs is refused', async () => {
    const place = await makePlace(['a'])
    const nested = playJob(place, {
      hooks: [async ({ event }) => (event === 'agent-start' ? void (await playJob(place)) : undefined)],
    })
    const { job } = await nested
    expect(await recordsOf(job)).toMatchObject([
      {
        end: {
          kind: 'failed',
          failure: { code: 'HookError', message: expect.stringContaining('already running this job') },
        },
      },
    ])
  })

  test('in another layout is refused; without one it keeps its own', async () => {
    const place = await makePlace(['a'])
    const { dir } = await openPlace(place, { layout: 'packed' })
    const refused = await openPlace(place, { layout: 'harbor' }).then(() => null, messageOfUserError)
    expect(refused).toBe(`--store: expected packed, the layout of the job in ${dir}, got harbor`)
    expect(await openPlace(place)).toMatchObject({ layout: 'packed', continued: true })
  })

  test('in a directory that is no job, or one of another program, is refused', async () => {
    const place = await makePlace(['a'])
    const { dir } = await openPlace(place)
    await rm(join(dir, 'job.json'))
    expect(await openPlace(place).then(() => null, messageOfUserError)).toContain('made by Harbor, not by ot-agent')
    await rm(join(dir, 'config.json'))
    expect(await openPlace(place).then(() => null, messageOfUserError)).toContain('expected the directory of a job')
  })
})

/** Makes a finished job look as if it had been killed. */
async function meetFates(dir: string, fateOf: (name: string) => string): Promise<void> {
  await rm(join(dir, 'result.json'))
  const store = await openTrialStore(dir, 'harbor')
  for await (const record of store.records()) {
    const fate = fateOf(record.name)
    const trialDir = join(dir, record.name)
    if (fate === 'gone') await rm(trialDir, { recursive: true })
    if (fate === 'half') await rm(join(trialDir, 'result.json'))
    if (fate === 'cancelled') await store.commit({ ...record, end: { kind: 'cancelled' } })
  }
  await store.close()
}

function refuse(): never {
  throw new UserError('no sandbox here', 'install one')
}

function messageOfUserError(error: unknown): string {
  if (!(error instanceof UserError)) throw error
  return error.message
}
