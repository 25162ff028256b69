// Writes a job with handmade trajectories and exports it, message by message, as parquet and JSON lines, for Harbor,
// pyarrow and datasets to judge.
import { join, resolve } from 'node:path'
import { DatasetFiles } from '../../src/app/traces/dataset-files.ts'
import { traceMaker } from '../../src/app/traces/trace-maker.ts'
import type { TraceOptions } from '../../src/formats/traces/make-traces.ts'
import { exportTraces } from '../../src/run/traces/export-traces.ts'
import { findInputs } from '../../src/run/traces/find-inputs.ts'
import { failed } from '../records.ts'
import { agentRecord, storeJob } from '../traces.ts'

const [dir] = process.argv.slice(2)
if (dir === undefined) throw new Error('usage: make-traces DIR')
const [job, out] = [join(resolve(dir), 'traced'), join(resolve(dir), 'dataset')]

const timeout = { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } } as const
const half = { kind: 'scored', rewards: { reward: 0.5 }, exit: { kind: 'finished' } } as const
await storeJob(job, [
  { record: agentRecord({ name: 'hello__Solved1' }), files: 'plain' },
  { record: agentRecord({ name: 'hello__Half111', end: half }), files: 'tools' },
  { record: agentRecord({ name: 'hello__TimeOut', end: timeout }), files: 'summarized' },
  { record: agentRecord({ name: 'hello__Failed1', end: failed() }), files: () => {} },
])

const options: TraceOptions = {
  form: 'readable',
  reasoning: 'column',
  episodes: 'all',
  filter: 'all',
  subagents: 'separate',
  turns: 'recorded',
  sharegpt: true,
}
const files = new DatasetFiles({
  name: 'dataset',
  formats: ['parquet', 'jsonl'],
  options,
  shardRows: 4,
  madeBy: 'test',
})
await exportTraces({
  found: await findInputs([job], false),
  out,
  overwrite: false,
  maker: traceMaker(options),
  openSink: (target) => files.open(target),
  describe: (counts, written) => files.describe(counts, written),
  signal: new AbortController().signal,
})
