import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrialFile, TrialWithFiles } from '../src/core/trace.ts'
import type { TrialRecord } from '../src/core/trial.ts'
import { defaultJobConfig } from '../src/formats/harbor-job/job-config.ts'
import type { TraceRow } from '../src/formats/traces/row.ts'
import { createJobDir, type Layout } from '../src/store/job-dir.ts'
import { openTrialStore } from '../src/store/open-store.ts'
import { someRecord } from './records.ts'

const fixtures = 'test/fixtures/traces'

/** A trial of an agent with a language model. */
export function agentRecord(over: Partial<TrialRecord> = {}): TrialRecord {
  const record = someRecord({
    agent: { name: 'terminus-2', version: '2.0.0', model: 'openai/gpt-x' },
    usage: { inputTokens: 1200, cacheTokens: 200, outputTokens: 80, costUsd: 0.0125 },
    ...over,
  })
  const agent = { ...record.config.agent, name: record.agent.name, modelName: record.agent.model }
  return { ...record, config: { ...record.config, agent } }
}

/** The files of one of the handmade trials in test/fixtures/traces. */
export function fixtureFiles(name: string): TrialFile[] {
  return (['agent', 'verifier'] as const).flatMap((folder) => {
    const dir = join(fixtures, name, folder)
    const names = existsSync(dir) ? readdirSync(dir) : []
    return names.map((file) => trialFile(file, readFileSync(join(dir, file)), { folder }))
  })
}

export function trialFile(name: string, content: unknown, over: Partial<TrialFile> = {}): TrialFile {
  const bytes =
    content instanceof Uint8Array
      ? content
      : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  return { step: null, folder: 'agent', name, bytes, size: bytes.length, ...over }
}

/** The rows that a handmade trial must give, as far as they are written down. */
export function fixtureRows(name: string): Partial<TraceRow>[] {
  return JSON.parse(readFileSync(join(fixtures, name, 'rows.json'), 'utf8'))
}

export function fixtureTrial(name: string, record: TrialRecord = agentRecord()): TrialWithFiles {
  return { job: 'some-job', record, files: fixtureFiles(name) }
}

/** A trajectory of a few steps, with a test's changes. */
export function someTrajectory(over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    schema_version: 'ATIF-v1.7',
    agent: { name: 'terminus-2', version: '2.0.0', model_name: 'openai/gpt-x' },
    steps: [
      { step_id: 1, source: 'user', message: 'Do it.' },
      { step_id: 2, source: 'agent', message: 'Done.' },
    ],
    ...over,
  }
}

export interface TrialToStore {
  readonly record: TrialRecord
  /** A fixture's name, or a function that writes the files into the trial's directory. */
  readonly files: string | ((dir: string) => void)
}

/** Writes a finished job through the real store. */
export async function storeJob(dir: string, trials: readonly TrialToStore[], layout: Layout = 'harbor'): Promise<void> {
  const { retry } = defaultJobConfig()
  const lock = { createdAt: someRecord().startedAt, invocation: ['ot-agent'], nConcurrentTrials: 1, retry, trials: [] }
  await createJobDir(dir, {
    id: '6856a1de-0000-4000-8000-000000000001',
    identity: {},
    startedAt: someRecord().startedAt,
    layout,
    config: defaultJobConfig({ jobName: 'some-job', jobsDir: join(dir, '..') }),
    lock,
  })
  const store = await openTrialStore(dir, layout)
  for (const { record, files } of trials) {
    const trialDir = await store.begin(record.config)
    if (typeof files === 'function') files(trialDir)
    else cpSync(join(fixtures, files), trialDir, { recursive: true, filter: (path) => !path.endsWith('rows.json') })
    await store.commit(record)
  }
  await store.close()
}
