import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { TrialRecord } from '../../src/core/trial.ts'
import { defaultJobConfig } from '../../src/formats/harbor-job/job-config.ts'
import { createJobDir, type Layout, saveJobResult } from '../../src/store/job-dir.ts'
import { openTrialStore } from '../../src/store/open-store.ts'
import { headLine, renderIndexLine } from '../../src/store/packed/index-line.ts'
import { renderTrialRecord } from '../../src/store/trial-record.ts'
import { someFailure } from '../records.ts'
import { agentRecord } from '../traces.ts'

export interface JobToMake {
  readonly id: string
  readonly records: readonly TrialRecord[]
  /** How many trials the job planned; by default as many as it has. */
  readonly planned?: number
  readonly startedAt?: string
  readonly layout?: Layout
}

/** Writes a finished job as a run would leave it. */
export async function makeJob(dir: string, job: JobToMake): Promise<string> {
  const { id, records, planned = records.length, startedAt = '2026-11-15T00:00:00.000000Z', layout = 'harbor' } = job
  const config = defaultJobConfig({ jobName: id, jobsDir: dirname(dir) })
  const lock = { createdAt: startedAt, invocation: [], nConcurrentTrials: 1, retry: config.retry, trials: [] }
  mkdirSync(dirname(dir), { recursive: true })
  await createJobDir(dir, { id, identity: {}, startedAt, layout, config, lock })
  await addRecords(dir, records, layout)
  await finishJob(dir, id, planned, startedAt)
  return dir
}

/** Writes the files of a finished, packed job of many trials as its store would, without syncing every one. */
export async function makeBigJob(dir: string, id: string, count: number, record: (i: number) => TrialRecord) {
  await makeJob(dir, { id, records: [], planned: count, layout: 'packed' })
  mkdirSync(join(dir, 'packed'), { recursive: true })
  const member = gzipSync(Buffer.alloc(1024))
  const sha256 = createHash('sha256').update(member).digest('hex')
  const segment = openSync(join(dir, 'packed', 'segment-00000.tar.gz'), 'w')
  const index = openSync(join(dir, 'packed', 'index.jsonl'), 'w')
  writeSync(index, headLine)
  for (let i = 0; i < count; i++) {
    const one = record(i)
    const place = { segment: 0, offset: i * member.length, length: member.length, sha256 }
    const line = { kind: 'trial', batch: 0, trial: one.name, ...place } as const
    writeSync(segment, member)
    writeSync(index, renderIndexLine(line, renderTrialRecord(one, {}, 0)))
  }
  closeSync(segment)
  closeSync(index)
  return dir
}

export async function addRecords(dir: string, records: readonly TrialRecord[], layout: Layout = 'harbor') {
  const store = await openTrialStore(dir, layout)
  await Promise.all(
    records.map(async (record) => {
      await store.begin(record.config)
      await store.commit(record)
    }),
  )
  await store.close()
}

export async function finishJob(dir: string, id: string, totalTrials: number, startedAt: string): Promise<void> {
  const counts = { completed: totalTrials, errored: 0, running: 0, pending: 0, cancelled: 0, retries: 0 }
  const use = { inputTokens: null, cacheTokens: null, outputTokens: null, costUsd: null }
  const finishedAt = '2026-11-15T01:00:00.000000Z'
  const stats = { ...counts, ...use, evals: new Map() }
  await saveJobResult(dir, { id, startedAt, updatedAt: finishedAt, finishedAt, totalTrials, stats })
}

export interface TrialToMake {
  readonly task: string
  readonly reward?: number | null
  readonly state?: 'scored' | 'failed' | 'cancelled'
  readonly attempt?: number
  readonly model?: string | null
  readonly benchmark?: string
  readonly message?: string
  readonly over?: Partial<TrialRecord>
}

let made = 0

/** A trial of a task, with a unique ID. */
export function trialOf(ask: TrialToMake): TrialRecord {
  const { task, reward = 1, state = 'scored', attempt = 0, model = 'hosted_vllm/org/student', over = {} } = ask
  const base = agentRecord({ name: `${task}__${attempt}` })
  const failure = someFailure({ message: ask.message ?? 'it broke' })
  return {
    ...base,
    id: `00000000-0000-4000-8000-${String(++made).padStart(12, '0')}`,
    task: { ...base.task, name: `org/${task}`, checksum: `checksum-${task}`, source: ask.benchmark ?? 'bench' },
    agent: { ...base.agent, model },
    attempt,
    end:
      state === 'scored'
        ? { kind: 'scored', rewards: reward === null ? null : { reward }, exit: { kind: 'finished' } }
        : state === 'failed'
          ? { kind: 'failed', failure }
          : { kind: 'cancelled' },
    ...over,
  }
}
