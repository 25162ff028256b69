import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { inputFiles } from '../../formats/input-files.ts'
import type { TraceOptions } from '../../formats/traces/make-traces.ts'
import { type ReadTrace, readTraceFile } from '../../formats/traces/read-parquet.ts'
import { factsOfRow, factsOfTrial } from '../../formats/traces/trial-facts.ts'
import { isMissing, kindAt } from '../../lib/files.ts'
import { oneLine } from '../../lib/visible.ts'
import { findInputs } from '../../run/traces/find-inputs.ts'
import { readTrials } from '../../run/traces/read-trials.ts'
import { traceMaker } from './trace-maker.ts'

export interface TracesAsk {
  readonly recursive: boolean
  readonly filter: TraceOptions['filter']
  /** Includes the messages. */
  readonly messages: boolean
  readonly signal: AbortSignal
  readonly onBroken: (line: string) => void
}

/** All traces in parquet files, an exported dataset or jobs; also reports trials without a trace. */
export async function* tracesIn(path: string, ask: TracesAsk): AsyncGenerator<ReadTrace, void, void> {
  const files = await filesAt(path)
  if (files.length === 0) yield* tracesOfJobs(path, ask)
  for (const file of files) {
    for await (const trace of readTraceFile(file, ask)) {
      ask.signal.throwIfAborted()
      const solved = Number(trace.facts.result ?? 0) > 0
      if (ask.filter === 'all' || solved === (ask.filter === 'success')) yield trace
    }
  }
}

/** Parquet files of traces: the path itself, its matches, or those in the folder `data`; none for jobs. */
async function filesAt(path: string): Promise<readonly string[]> {
  const kind = await kindAt(path)
  if (kind === 'dir') return parquetIn(join(path, 'data'))
  return inputFiles(path, { what: 'traces', pattern: /\.parquet$/i, endings: '.parquet' })
}

async function parquetIn(dir: string): Promise<string[]> {
  try {
    const names = await readdir(dir)
    return names
      .filter((name) => name.endsWith('.parquet'))
      .sort()
      .map((name) => join(dir, name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function* tracesOfJobs(
  path: string,
  { recursive, filter, messages, signal, onBroken }: TracesAsk,
): AsyncGenerator<ReadTrace> {
  const { inputs, broken } = await findInputs([path], recursive)
  for (const { dir, why } of broken) onBroken(`${oneLine(dir)} was skipped: ${oneLine(why)}`)
  const maker = traceMaker({
    form: 'readable',
    reasoning: 'column',
    episodes: 'last',
    filter,
    subagents: 'separate',
    turns: 'recorded',
    sharegpt: false,
  })
  for await (const read of readTrials(inputs, maker, signal)) {
    const [job, record] = 'trial' in read ? [read.trial.job, read.trial.record] : [read.input.job, read.record]
    if ('drop' in read && read.drop.reason === 'filtered-by-result') continue
    yield { facts: factsOfTrial(record, job), messages: [] }
    for (const trace of 'trial' in read ? maker.make(read.trial) : []) {
      if (!('row' in trace)) continue
      const { conversations, context_messages: context } = trace.row
      yield { facts: factsOfRow(trace.row), messages: messages ? conversations.slice(context) : [] }
    }
  }
}
