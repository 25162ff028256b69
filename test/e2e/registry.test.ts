import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findLeaders } from '../../src/app/registry/query.ts'
import { type Kit, numberOf, onBothDatabases } from '../registry/databases.ts'
import { makeBigJob, trialOf } from '../registry/jobs.ts'

const trials = 1500

onBothDatabases('processes that share a registry', (kit: Kit) => {
  const ingest = (job: string, registry: string) => {
    const env = { ...process.env, OT_AGENT_REGISTRY: registry }
    return spawn(process.execPath, ['bin/ot-agent.js', 'registry', 'ingest', job], { env, stdio: 'ignore' })
  }

  test('write at once, one is killed, and the same commands finish everything', async () => {
    const registry = await kit.fresh()
    const jobs: string[] = []
    for (const name of ['one', 'two', 'three'])
      jobs.push(
        await makeBigJob(join(kit.scratch, name), name, trials, (i) =>
          trialOf({ task: `t${i % 100}`, attempt: i, reward: i % 2, model: `p/org/${name}` }),
        ),
      )
    const running = jobs.map((job) => ingest(job, registry))
    const ends = running.map((child) => once(child, 'exit'))
    const [victim, others] = [running[0], ends.slice(1)]
    while (victim?.exitCode === null && !(await hasTrials(registry))) await new Promise((r) => setTimeout(r, 10))
    victim?.kill('SIGKILL')
    expect(await Promise.all(others)).toEqual([
      [0, null],
      [0, null],
    ])
    await ends[0]
    for (const job of jobs) expect(await once(ingest(job, registry), 'exit')).toEqual([0, null])
    const leaders = await findLeaders({ registry })
    expect(leaders.map(({ model_name, n_trials, accuracy }) => [model_name, n_trials, accuracy]).sort()).toEqual(
      ['one', 'three', 'two'].map((name) => [`org/${name}`, trials, 0.5]),
    )
    expect(await numberOf(registry, 'SELECT count(*) FROM sandbox_trials')).toBe(3 * trials)
  })
})

async function hasTrials(registry: string): Promise<boolean> {
  return (await numberOf(registry, 'SELECT count(*) FROM sandbox_trials')) > 0
}
