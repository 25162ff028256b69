import { cpSync, mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { HubStandIn } from '../../test/fakes/hub/server.ts'
import { modelReply } from '../../test/fakes/model-reply.ts'
import { makeTempDir } from '../../test/make-task.ts'
import { agentRecord, storeJob } from '../../test/traces.ts'
import { ExchangeLog } from '../formats/exchanges/write-exchanges.ts'
import { openTrialStore } from '../store/open-store.ts'
import { publishTraces } from './publish-traces.ts'

const later = '2026-11-16T00:00:00.000000Z'
let dir: string
let jobDir: string
let set: string
beforeEach(async () => {
  dir = await makeTempDir()
  jobDir = join(dir, 'job')
  set = join(dir, 'set')
  await storeJob(
    jobDir,
    ['hello__one', 'hello__two'].map((name) => ({ record: agentRecord({ name }), files: saveCall })),
  )
})
afterEach(() => vi.unstubAllEnvs())

async function publish(repository = `file:${set}`): Promise<number> {
  return (await publishTo(repository)).rows
}

async function publishTo(repository: string) {
  return publishTraces({ jobDir, repository, isPrivate: true }, new AbortController().signal)
}

/** Runs a trial, as the resumed job would. */
async function runTrial(name: string, startedAt: string): Promise<void> {
  const { config, ...record } = agentRecord({ name, startedAt })
  const store = await openTrialStore(jobDir, 'harbor')
  const own = { ...config, trialName: name }
  saveCall(await store.begin(own))
  await store.commit({ ...record, config: own })
  await store.close()
}

/** Every row of the dataset by its trial. */
async function sentTrials(): Promise<string[]> {
  const files = (await readdir(join(set, 'data'))).map((name) => join(set, 'data', name))
  const rows = await Promise.all(
    files.map(async (file) => parquetReadObjects({ file: await asyncBufferFromFile(file), columns: ['trial_name'] })),
  )
  return rows.flatMap((some) => some.map(({ trial_name }) => String(trial_name))).sort()
}

test('a job that is resumed after an upload adds only the trials that ran since', async () => {
  expect(await publish()).toBe(2)
  await runTrial('hello__three', later)
  expect(await publish()).toBe(1)
  expect(await sentTrials()).toEqual(['hello__one', 'hello__three', 'hello__two'])
  expect(await readFile(join(set, 'README.md'), 'utf8')).toMatch(/^\| \w+ \| 2 \|.*\n\| \w+ \| 1 \|/m)

  const before = await readdir(join(set, 'data'))
  expect(await publish()).toBe(0)
  expect(await readdir(join(set, 'data'))).toEqual(before)
})

test('a trial that ran again without success before is another trace', async () => {
  await publish()
  rmSync(join(jobDir, 'hello__two'), { recursive: true })
  await runTrial('hello__two', later)
  expect(await publish()).toBe(1)
})

test('a trial that was rescored after it was sent is not sent again, but counted as outdated', async () => {
  await publish()
  const end = { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } } as const
  const files = join(dir, 'rescored')
  cpSync(join(jobDir, 'hello__two'), files, { recursive: true })
  const store = await openTrialStore(jobDir, 'harbor')
  await store.replace(agentRecord({ name: 'hello__two', end }), files)
  await store.close()
  expect(await publishTo(`file:${set}`)).toMatchObject({ rows: 0, outdated: 1 })
  expect(await publishTo(`file:${join(dir, 'other')}`)).toMatchObject({ rows: 2, outdated: 0 })
})

test('what never reached the dataset is sent, whatever the job noted', async () => {
  await publish()
  rmSync(set, { recursive: true })
  await runTrial('hello__three', later)
  expect(await publish()).toBe(3)
  expect(await sentTrials()).toHaveLength(3)
  expect(await publish(`file:${join(dir, 'other')}`)).toBe(3)
})

test('a trial that could not be read before is sent once it can be', async () => {
  const exchanges = join(jobDir, 'hello__two/agent/exchanges.jsonl')
  renameSync(exchanges, `${exchanges}.away`)
  mkdirSync(exchanges)
  expect(await publish()).toBe(1)
  rmdirSync(exchanges)
  renameSync(`${exchanges}.away`, exchanges)
  expect(await publish()).toBe(1)
  expect(await sentTrials()).toEqual(['hello__one', 'hello__two'])
})

test('on the Hub too, each trial is sent once', async () => {
  const hub = await HubStandIn.start()
  onTestFinished(() => hub.close())
  for (const [name, value] of Object.entries(hub.env)) vi.stubEnv(name, value)
  expect(await publish('me/traces')).toBe(2)
  await runTrial('hello__three', later)
  expect(await publish('me/traces')).toBe(1)
  const commits = hub.repo('me/traces').commits.length
  expect(await publish('me/traces')).toBe(0)
  expect(hub.repo('me/traces').commits).toHaveLength(commits)
})

/** What was said to a model, in one call. */
function saveCall(trialDir: string): void {
  const log = new ExchangeLog()
  const lines = [log.head(), log.reply({ messages: [{ role: 'user', content: 'Do it.' }] }, modelReply('Done.'))]
  mkdirSync(join(trialDir, 'agent'), { recursive: true })
  writeFileSync(join(trialDir, 'agent/exchanges.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}
