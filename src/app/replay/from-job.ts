import { promptsDigestOf, type RecordedTurn } from '../../core/replay.ts'
import { exchangesName } from '../../core/task-paths.ts'
import type { TrialFile } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { exchangesLimitBytes } from '../../formats/exchanges/exchange.ts'
import { modelInHead, readExchanges } from '../../formats/exchanges/read-exchanges.ts'
import { turnsOfExchanges } from '../../formats/exchanges/recorded-turns.ts'
import { rewardOf } from '../../formats/traces/trial-facts.ts'
import { findInputs, type TraceInput } from '../../run/traces/find-inputs.ts'
import { openForReading, type ReadableStore } from '../../store/trial-files.ts'
import { type FoundTrial, isCut, notReplayable } from './found-trial.ts'

/** Selects among all trials; `sizeOf` gives a trial's number of rows. */
export type Choose = <T>(all: readonly T[], sizeOf?: (one: T) => number) => readonly T[]

/** The recorded trials of jobs, with every conversation verbatim. */
export async function trialsOfJobs(path: string, choose: Choose, signal: AbortSignal): Promise<FoundTrial[]> {
  const { inputs } = await findInputs([path], false)
  const stores = new Map<TraceInput, ReadableStore>()
  try {
    const all: { input: TraceInput; record: TrialRecord }[] = []
    for (const input of inputs) {
      const store = await openForReading(input.dir, input.layout)
      stores.set(input, store)
      for await (const record of store.records()) {
        signal.throwIfAborted()
        const isAsked = input.only === null || record.name === input.only
        if (isAsked && record.end.kind !== 'cancelled') all.push({ input, record })
      }
    }
    all.sort((a, b) => (a.record.name < b.record.name ? -1 : 1))
    const found: FoundTrial[] = []
    for (const { input, record } of choose(all)) {
      const files = (await stores.get(input)?.readFiles(record.name, limitOf)) ?? []
      found.push(trialOf(input.job, record, files))
    }
    return found
  } finally {
    for (const store of stores.values()) await store.close()
  }
}

/** Only conversations are needed. */
export function limitOf(folder: TrialFile['folder'], name: string): number | null {
  return folder === 'agent' && name === exchangesName ? exchangesLimitBytes : null
}

/** A trial reconstructed from its record and its exchanges. */
export function trialOf(job: string, record: TrialRecord, files: readonly TrialFile[]): FoundTrial {
  const turns: RecordedTurn[] = []
  const rows = new Set<string>()
  for (const { step, bytes } of files) {
    const at = [job, record.name, ...(step === null ? [] : [step])].join('/')
    for (const turn of turnsOfExchanges(readExchanges(bytes), at)) {
      rows.add(turn.row)
      turns.push(turn)
    }
  }
  const none = { id: `${job}/${record.name}`, cannot: notReplayable.noExchanges }
  const { task, agent, config } = record
  return {
    job,
    name: record.name,
    rows: rows.size === 0 ? [none] : [...rows].map((id) => ({ id, cannot: null })),
    turns,
    at: new Date(record.startedAt),
    isCut: isCut(record),
    reward: rewardOf(record),
    agent: { ...agent, promptsDigest: promptsDigestOf(record) },
    model: (files[0] && modelInHead(files[0].bytes)) ?? null,
    task: { name: task.name, digest: task.digest, path: task.path },
    settings: config,
  }
}
