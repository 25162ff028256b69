import { existsSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import { someRecord, someTrialConfig } from '../../../test/records.ts'
import { tempDir } from '../../../test/trees.ts'
import { journalName } from '../../core/task-paths.ts'
import { openJournal } from '../../formats/atif/journal.ts'
import { atifVersion } from '../../formats/atif/trajectory.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { openExchangeFiles } from '../exchange-files.ts'
import { createJobDir, type Layout } from '../job-dir.ts'
import { openTrialStore } from '../open-store.ts'
import { packJob } from './pack-job.ts'
import { unpackJob } from './unpack-job.ts'

const name = someTrialConfig().trialName

/** A job whose only trial was killed after some calls of its agent, while its trajectory was being written. */
async function killedJob(layout: Layout, calls: number): Promise<string> {
  const jobDir = join(await tempDir(), 'job')
  const config = defaultJobConfig()
  const lock = { createdAt: '', invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(jobDir, { id: 'job', identity: {}, startedAt: '', layout, config, lock })
  await interruptedTry(jobDir, layout, calls)
  return jobDir
}

async function interruptedTry(jobDir: string, layout: Layout, calls: number): Promise<void> {
  const dir = join(await (await openTrialStore(jobDir, layout)).begin(someTrialConfig()), 'agent')
  await mkdir(dir)
  const files = openExchangeFiles(String, () => {})
  const client = files.recorded(clientThat(replies('hello')), dir)
  for (let i = 0; i < calls; i++) await client.complete({ messages: [{ role: 'user', content: `say ${i}` }] })
  await files.close()
  const journal = await openJournal(dir, String)
  const head = { schema_version: atifVersion, session_id: 's', agent: { name: 'a', version: '1' } } as const
  journal.add({ kind: 'open', file: 'trajectory.json', head })
  journal.add({ kind: 'step', file: 'trajectory.json', step: { source: 'user', message: 'do it' } })
  await expect.poll(() => readFile(join(dir, journalName), 'utf8')).toContain('do it')
}

/** How many replies the next run finds on the trial's tape, and how many tries it finds set aside. */
async function kept(jobDir: string, layout: Layout): Promise<[turns: number, tries: number]> {
  const store = await openTrialStore(jobDir, layout)
  const turns = (await store.tapeOf(name))?.rounds.get(null)?.turns.length ?? 0
  await store.begin(someTrialConfig())
  await store.commit(someRecord())
  await using trial = await store.open(name)
  const tries = (await readdir(trial.dir)).filter((file) => file.startsWith('failed-')).length
  await store.close()
  return [turns, tries]
}

test.each([
  ['packing what was packed already', packJob, 'packed', 'packed'],
  ['unpacking', unpackJob, 'packed', 'harbor'],
  ['packing', packJob, 'harbor', 'packed'],
] as const)(
  '%s after a kill keeps what the interrupted try was told, and its files',
  async (_, convert, before, after) => {
    const jobDir = await killedJob(before, 3)
    await convert(jobDir)
    expect(await kept(jobDir, after)).toEqual([3, 1])
  },
)

test('a try that was cut off before packing and one after it are both there after unpacking', async () => {
  const jobDir = await killedJob('harbor', 3)
  await packJob(jobDir)
  await interruptedTry(jobDir, 'packed', 4)
  await unpackJob(jobDir)
  expect((await readdir(join(jobDir, name))).sort()).toEqual(['failed-1.tar.gz', 'failed-2.tar.gz'])
  expect(await kept(jobDir, 'harbor')).toEqual([4, 2])
})

test('a file of a cut-off try that cannot be packed is named, and nothing is lost', async () => {
  const jobDir = await killedJob('harbor', 3)
  const odd = Buffer.concat([Buffer.from(join(jobDir, name, 'odd-')), Buffer.from([0xff])])
  writeFileSync(odd, 'x')
  await expect(packJob(jobDir)).rejects.toMatchObject({ name: 'UserError', message: expect.stringContaining(name) })
  expect(existsSync(odd)).toBe(true)
})
