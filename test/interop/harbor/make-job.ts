// Writes a job with every way a trial can end into the given directory, through the real store, for other tools to
// judge.
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { StepRecord, TrialRecord } from '../../../src/core/trial.ts'
import { defaultJobConfig } from '../../../src/formats/harbor-job/job-config.ts'
import { makeLiveStats } from '../../../src/stats/live-stats.ts'
import { openHarborLayout } from '../../../src/store/harbor-layout.ts'
import { createJobDir, saveJobResult } from '../../../src/store/job-dir.ts'
import { failed, someFailure, someRecord } from '../../records.ts'

const [dir] = process.argv.slice(2)
if (dir === undefined) throw new Error('usage: make-job DIR')
const jobDir = resolve(dir)
const jobsDir = resolve(jobDir, '..')

const base = someRecord()
const agent = {
  ...base.config.agent,
  modelName: 'openai/gpt-x',
  env: { OPENAI_API_KEY: 'sk-0123456789abc' },
  kwargs: { max_turns: 32, temperature: 0.5 },
}
const usage = { inputTokens: 1200, cacheTokens: 200, outputTokens: 80, costUsd: 0.25 }
const step: StepRecord = {
  name: 'one',
  rewards: { reward: 1, style: 0.5 },
  exit: { kind: 'finished' },
  failure: null,
  usage,
  metadata: { n_episodes: 3 },
  agentExecution: base.spans.agentExecution,
  verifier: base.spans.verifier,
}

const endings: Record<string, Partial<TrialRecord>> = {
  hello__Solved1: { usage, metadata: { n_episodes: 3, api_request_times_msec: [1.5, 2] } },
  hello__Nothing: { end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } } },
  heap__TimeOut: { end: { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } } },
  heap__BadExit: { end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'exited', exitCode: 2 } } },
  stop__MaxTurn: { end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'turns' } } },
  stop__NoRoom1: {
    end: failed({ message: 'no room: “€” \ud83d\ude80 \u0001' }),
    spans: { ...base.spans, agentExecution: null, verifier: null },
  },
  text__NoFile1: { end: failed({ boundary: 'verifier', code: 'RewardFileNotFoundError' }) },
  text__Cancel1: { end: { kind: 'cancelled' }, spans: { ...base.spans, verifier: null } },
  steps__Staged: {
    end: { kind: 'scored', rewards: { reward: 0.5, style: 0.25 }, exit: { kind: 'limit', limit: 'time' } },
    steps: [step, { ...step, name: 'two', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'time' } }],
    spans: { ...base.spans, agentExecution: null, verifier: null },
  },
  steps__Broken: {
    end: failed(),
    steps: [{ ...step, rewards: null, exit: null, failure: someFailure(), verifier: null }],
  },
}

const records = Object.entries(endings).map(([name, over], i) => {
  const task = name.slice(0, name.indexOf('__'))
  const record = someRecord({
    name,
    id: `00000000-0000-4000-8000-00000000000${i}`,
    agent: { name: 'terminus-2', version: '2.0.0', model: 'openai/gpt-x' },
    ...over,
  })
  const config = { ...record.config, agent, trialsDir: jobDir, task: { ...record.config.task, path: `/tasks/${task}` } }
  return { ...record, config, task: { ...record.task, name: `org/${task}`, path: `/tasks/${task}` } }
})

const config = defaultJobConfig({
  jobName: 'sample',
  jobsDir,
  agents: [agent],
  environment: base.config.environment,
  artifacts: ['/app/out', { source: '/app/x', exclude: ['*.pyc'] }],
  datasets: [],
})
const startedAt = base.startedAt
const trials = records.map(({ task, config: { timeoutMultipliers, agent, environment, verifier } }) => ({
  task: {
    name: task.name,
    type: 'local' as const,
    digest: task.digest,
    source: task.source,
    path: task.path,
    gitUrl: null,
    gitCommitId: null,
  },
  timeoutMultipliers,
  agent,
  environment,
  verifier,
}))
const lock = {
  createdAt: startedAt,
  invocation: ['ot-agent', 'run', '--ae', 'OPENAI_API_KEY=sk-0123456789abc'],
  nConcurrentTrials: 4,
  retry: config.retry,
  trials,
}
await createJobDir(jobDir, {
  id: '6856a1de-0000-4000-8000-000000000001',
  identity: {},
  startedAt,
  layout: 'harbor',
  config,
  lock,
})

const store = openHarborLayout(jobDir)
const board = makeLiveStats()
for (const record of records) {
  const trialDir = await store.begin(record.config)
  for (const name of ['agent', 'verifier', 'artifacts']) await mkdir(join(trialDir, name))
  await writeFile(join(trialDir, 'trial.log'), 'a line\n')
  if (record.name === 'hello__Solved1')
    await store.keepFailedTry(record.name, 1, { ...record, end: failed() }).then(() => store.begin(record.config))
  await store.commit(record)
  board.add(record)
}
const total = records.length + 1
const progress = { total, running: 0, retries: 1, passAtK: true }
await saveJobResult(jobDir, {
  id: '6856a1de-0000-4000-8000-000000000001',
  startedAt,
  updatedAt: base.finishedAt,
  finishedAt: base.finishedAt,
  totalTrials: total,
  stats: board.stats(progress),
})
