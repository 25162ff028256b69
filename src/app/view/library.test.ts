import { mkdir, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { makeJob, trialOf } from '../../../test/registry/jobs.ts'
import { Library } from './library.ts'

test('a job that breaks while being viewed breaks only its own pages', async () => {
  const dir = join(await makeTempDir(), 'jobs')
  const records = [trialOf({ task: 'alpha', reward: 1 }), trialOf({ task: 'beta', reward: 1 })]
  const job = await makeJob(join(dir, 'job'), { id: 'job', records })
  const { library } = await Library.open([dir])
  expect((await library.job('job', 10_000)).index.rows.size).toBe(2)
  await mkdir(join(job, 'new-trial'))
  // Larger than Node's read size.
  await writeFile(join(job, 'new-trial/result.json'), '')
  await truncate(join(job, 'new-trial/result.json'), 3 * 2 ** 30)
  await utimes(join(job, 'result.json'), 1, 1)
  // An error while the list reads jobs in the background must not end the process; vitest would fail with it.
  expect((await library.jobs()).rows).toHaveLength(1)
  await expect.poll(() => library.job('job', 10_000).then(() => 'shown', String)).toContain('2 GiB')
  await library.close()
})
