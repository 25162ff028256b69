import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { Drop, TrialWithFiles } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { codeOf } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import type { LimitOf } from '../../store/read-trial-dir.ts'
import { openForReading, type ReadableStore } from '../../store/trial-files.ts'
import type { TraceInput } from './find-inputs.ts'

/** What is asked about every trial before and while it is read. */
export interface TrialReading {
  /** Trials that are neither read nor reported. */
  readonly skip?: ((record: TrialRecord) => boolean) | undefined
  /** Why a trial need not be read; null when it must be. */
  refuse(record: TrialRecord): Drop | null
  readonly limitOf: LimitOf
}

/** A finished trial with its files, or why they were not read. */
export type ReadTrial =
  | { readonly input: TraceInput; readonly trial: TrialWithFiles }
  | { readonly input: TraceInput; readonly record: TrialRecord; readonly drop: Drop }

/** Trials in memory at once: enough to keep the disk busy. */
const trialsAtOnce = 4

/** Every finished trial of some inputs, a few at a time; an unreadable one is reported, and the others continue. */
export async function* readTrials(
  inputs: readonly TraceInput[],
  reading: TrialReading,
  signal: AbortSignal,
): AsyncGenerator<ReadTrial, void, void> {
  for (const input of inputs) {
    const store = await openForReading(input.dir, input.layout)
    try {
      yield* mapInOrder(chosen(store, input, reading, signal), trialsAtOnce, (record) =>
        readTrial(store, input, record, reading),
      )
    } finally {
      await store.close()
    }
  }
}

async function* chosen(
  store: ReadableStore,
  { only }: TraceInput,
  { skip }: TrialReading,
  signal: AbortSignal,
): AsyncGenerator<TrialRecord> {
  for await (const record of store.records()) {
    signal.throwIfAborted()
    if ((only === null || record.name === only) && !skip?.(record)) yield record
  }
}

async function readTrial(
  store: ReadableStore,
  input: TraceInput,
  record: TrialRecord,
  reading: TrialReading,
): Promise<ReadTrial> {
  const refused = reading.refuse(record)
  if (refused) return { input, record, drop: refused }
  try {
    const files = await store.readFiles(record.name, reading.limitOf)
    return { input, trial: { job: input.job, record, files } }
  } catch (error) {
    const isBug = !(error instanceof BoundaryError || error instanceof UserError || codeOf(error) !== undefined)
    if (isBug) throw error
    const drop: Drop = { reason: 'trial-unreadable', detail: messageOf(error), traceSource: null, step: null }
    return { input, record, drop }
  }
}
