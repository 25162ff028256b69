import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { finish } from '../../../test/contracts/trial-store.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { someRecord, someTrialConfig } from '../../../test/records.ts'
import { readTree } from '../../../test/trees.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { createJobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { type MakeCommand, runCommand } from '../command.ts'
import pack from './pack.ts'
import unpack from './unpack.ts'

let jobsDir: string
let jobDir: string
beforeEach(async () => {
  jobsDir = await makeTempDir()
  jobDir = join(jobsDir, 'one')
  const config = defaultJobConfig({ jobName: 'one', jobsDir })
  const lock = { createdAt: '', invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(jobDir, { id: 'an-id', identity: {}, startedAt: '', layout: 'harbor', config, lock })
  const store = await openTrialStore(jobDir, 'harbor')
  for (const name of ['a', 'b']) await finish(store, someRecord({ name }))
})

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'jobs'], argv)
  return printed()
}

test('packs a job and unpacks it again, by directory or by name', async () => {
  const before = await readTree(jobDir)
  expect(await run(pack, jobDir)).toMatch(/one is packed: 2 trials, 0\.00 MB\n$/)
  expect((await readdir(jobDir)).sort()).toEqual(['config.json', 'job.json', 'lock.json', 'packed'])
  expect(await run(pack, 'one', '--jobs-dir', jobsDir)).toContain('is packed: 2 trials')
  expect(await run(unpack, 'one', '--jobs-dir', jobsDir)).toMatch(/one has trial directories again: 2 trials\n$/)
  expect(await run(unpack, jobDir)).toMatch(/one has trial directories already\n$/)
  expect(await readTree(jobDir)).toEqual(before)
})

test('says the same to machines, and which trials it left alone', async () => {
  const store = await openTrialStore(jobDir, 'harbor')
  await store.begin(someTrialConfig({ trialName: 'half' }))
  expect(JSON.parse(await run(pack, jobDir, '--json'))).toEqual({
    job: jobDir,
    trials: 2,
    packedBytes: expect.any(Number),
    leftAlone: [{ trial: 'half', reason: 'it is not finished' }],
  })
  expect(JSON.parse(await run(unpack, jobDir, '--json'))).toEqual({ job: jobDir, trials: 2, droppedLinks: 0 })
})

test('a job that is not there is named', async () => {
  await expect(run(pack, 'nobody', '--jobs-dir', jobsDir)).rejects.toThrow(
    'expected the directory or the name of a job',
  )
  await expect(run(unpack, jobsDir)).rejects.toThrow('expected the directory of a job')
})
