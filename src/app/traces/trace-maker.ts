import { limitOfFile, makeTraces, refuseTrial, type TraceOptions } from '../../formats/traces/make-traces.ts'
import type { TraceRow } from '../../formats/traces/row.ts'
import type { TraceMaker } from '../../run/traces/export-traces.ts'

/** How trials become rows, for every reader of trials. */
export function traceMaker(options: TraceOptions): TraceMaker<TraceRow> {
  return {
    refuse: (record) => refuseTrial(record, options),
    limitOf: limitOfFile,
    make: (trial) => makeTraces(trial, options),
  }
}
