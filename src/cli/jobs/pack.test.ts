import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { finish } from '../../../test/contracts/trial-store.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { someRecord, someTrialConfig } from '../../../test/records.ts'
import { readTree } from '../../../test/trees.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import { ExchangeLog } from '../../formats/exchanges/write-exchanges.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { createJobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import exportTraces from '../traces/export.ts'
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
  expect(await run(pack, jobDir)).toMatch(/^packed \S*one: 2 trials, 0\.00 MB\n$/)
  expect((await readdir(jobDir)).sort()).toEqual(['config.json', 'job.json', 'lock.json', 'packed'])
  expect(await run(pack, 'one', '--jobs-dir', jobsDir)).toContain('2 trials')
  expect(await run(unpack, 'one', '--jobs-dir', jobsDir)).toMatch(/^unpacked \S*one: 2 trials\n$/)
  expect(await run(unpack, jobDir)).toMatch(/one already has trial directories\n$/)
  expect(await readTree(jobDir)).toEqual(before)
})

test('what was said to a model is the same after packing and unpacking, and so is what is exported of it', async () => {
  const said = new Map<string, Buffer>()
  for (const name of ['a', 'b']) {
    const file = join(jobDir, name, 'agent/exchanges.jsonl')
    await mkdir(join(jobDir, name, 'agent'), { recursive: true })
    await writeFile(file, exchangesOf(name))
    said.set(file, await readFile(file))
  }
  const exported = async (name: string) => {
    const out = join(jobsDir, name)
    await run(exportTraces, '-p', jobDir, '--out', out, '--format', 'jsonl', '--episodes', 'all')
    const [file = ''] = (await readdir(join(out, 'jsonl'))).filter((each) => each.endsWith('.jsonl'))
    const { runs } = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'))
    // Trials are packed concurrently, so rows are in the order in which they finished.
    const rows = (await readFile(join(out, 'jsonl', file), 'utf8')).trim().split('\n').sort()
    return { rows, runs }
  }
  const loose = await exported('loose')
  expect(loose.rows).toHaveLength(4)
  expect(loose.runs).toMatchObject([{ model: { contextTokens: 4096 } }])
  await run(pack, jobDir)
  expect(await exported('packed')).toEqual(loose)
  await run(unpack, jobDir)
  for (const [file, bytes] of said) expect(await readFile(file)).toEqual(bytes)
})

/** Two calls, containing text that a careless copy would alter. */
function exchangesOf(name: string): string {
  const log = new ExchangeLog()
  const usage = { inputTokens: 1, cacheTokens: 0, outputTokens: 1 }
  const plain = {
    reasoning: null,
    toolCalls: [],
    finish: 'stop',
    usage,
    costUsd: null,
    tokens: null,
    latencyMs: 1,
  } as const
  const first = { role: 'user' as const, content: `do ${name}\r\n\u0000\u2028 \ud800` }
  const text = ' {"é": 1}\n\n'
  const second = [first, { role: 'assistant' as const, content: text }, { role: 'user' as const, content: 'more' }]
  const lines = [
    log.head({ contextTokens: 4096, outputTokens: null }),
    log.reply({ messages: [first] }, { ...plain, text }),
    log.reply({ messages: second }, { ...plain, text: 'done' }),
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

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

test('a missing job is named', async () => {
  await expect(run(pack, 'nobody', '--jobs-dir', jobsDir)).rejects.toThrow(
    'expected the directory or the name of a job',
  )
  await expect(run(unpack, jobsDir)).rejects.toThrow('expected the directory of a job')
})
