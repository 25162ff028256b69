import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { rescoreJob } from '../../src/run/rescore.ts'
import { loadJobDir } from '../../src/store/job-dir.ts'
import { writeTask } from '../fakes/tasks.ts'
import { makePlace, type Place, playJob, recordsOf } from './job-kit.ts'
import { alternatives, leftovers, provider, withSandboxes } from './kit.ts'

const separate = 'artifacts = ["/answer"]\n[verifier]\nenvironment_mode = "separate"\n'
const shared = 'artifacts = ["/answer"]\n'
const wrongTest = 'echo 0 > /logs/verifier/reward.txt'

withSandboxes('rescoring a job', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('runs repaired tests on the kept artifacts, and keeps the old record aside', async () => {
    const place = await makePlace(['a'], { toml: separate, test: wrongTest })
    const { job } = await playJob(place)
    const rows = await rescore(place, separate)
    expect([...rows.values()]).toEqual([{ kind: 'rescored', before: { reward: 0 }, after: { reward: 1 } }])
    const [record] = await recordsOf(job)
    expect(record).toMatchObject({ end: { kind: 'scored', rewards: { reward: 1 } }, isolation: 'separate' })
    const dir = join(job.dir, record!.name)
    expect(readFileSync(join(dir, 'verifier/reward.txt'), 'utf8')).toBe('1\n')
    expect(existsSync(join(dir, 'failed-1.tar.gz'))).toBe(true)
    expect(JSON.parse(readFileSync(join(job.dir, 'result.json'), 'utf8')).stats.evals.fake__letters.metrics).toEqual([
      { mean: 1 },
    ])
  })

  test('says why a trial cannot be scored again, unless its user vouches for the artifacts', async () => {
    const place = await makePlace(['a'], { toml: shared, test: wrongTest })
    await playJob(place)
    const [row] = (await rescore(place, shared)).values()
    expect(row).toEqual({ kind: 'not-rescorable', reason: "its tests look at the agent's own sandbox, which is gone" })
    expect([...(await rescore(place, shared, true)).values()]).toMatchObject([
      { kind: 'rescored', after: { reward: 1 } },
    ])
  })

  test('that fails leaves the old score as it was', async () => {
    const place = await makePlace(['a'], { toml: separate })
    const { job } = await playJob(place)
    const before = await recordsOf(job)
    const rows = await rescore(place, separate, false, 'true')
    expect([...rows.values()]).toMatchObject([{ kind: 'failed', reason: expect.stringContaining('wrote neither') }])
    expect(await recordsOf(job)).toEqual(before)
  })
})

/** Repairs the tests of the place's tasks and verifies again. */
async function rescore(place: Place, toml: string, artifactsSuffice = false, test?: string) {
  const files = (name: string) => ({ toml, ...(test !== undefined && { test }), files: { 'README.md': name } })
  const dirs = await Promise.all(place.names.map((name) => writeTask(place.tasksDir, name, files(name))))
  const there = await loadJobDir(join(place.jobsDir, 'the-job'))
  const tasks = await Promise.all(dirs.map((dir) => loadTask(dir)))
  const { signal } = new AbortController()
  return rescoreJob({
    there,
    config: there.config,
    tasks,
    provider,
    hostEnv: {},
    alternatives,
    signal,
    artifactsSuffice,
    nConcurrent: 2,
  })
}
