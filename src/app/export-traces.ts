import { basename, resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { TrialRecord } from '../core/trial.ts'
import type { TraceOptions } from '../formats/traces/make-traces.ts'
import type { ShardFile, TraceFormat } from '../formats/traces/shards.ts'
import { version } from '../lib/version.ts'
import { type ExportCounts, exportTraces as writeTraces } from '../run/traces/export-traces.ts'
import { findInputs } from '../run/traces/find-inputs.ts'
import { explainDisk } from './disk-errors.ts'
import type { RunControl } from './run-tasks.ts'
import { Running } from './running.ts'
import { DatasetFiles } from './traces/dataset-files.ts'
import { traceMaker } from './traces/trace-maker.ts'

export type { TraceOptions } from '../formats/traces/make-traces.ts'
export { type TraceFormat, traceFormats } from '../formats/traces/shards.ts'

/** Which trials to export, and in which form. */
export interface ExportRequest extends Partial<TraceOptions> {
  /** Jobs, trials or folders of them. */
  readonly from: string | readonly string[]
  /** The directory of the dataset; it appears whole or not at all. */
  readonly out: string
  /** The name on the dataset's card (default: the name of `out`). */
  readonly name?: string | undefined
  /** Files to write (default: parquet). */
  readonly formats?: readonly TraceFormat[] | undefined
  /** Also looks for jobs in subfolders. */
  readonly recursive?: boolean | undefined
  /** Maximum rows per file (default: about 500 MB per file). */
  readonly shardRows?: number | undefined
  /** A file from `jobs report --labels`: adds to each row why its trial failed. */
  readonly labels?: string | undefined
  /** Trials to leave out, as if they were not there. */
  readonly skip?: ((record: TrialRecord) => boolean) | undefined
  /** Called for each trial that gave rows. */
  readonly onExported?: ((record: TrialRecord) => void) | undefined
  /** Replaces an earlier export. */
  readonly overwrite?: boolean | undefined
}

export interface ExportProgress {
  readonly trials: number
  readonly rows: number
}

export interface ExportResult extends ExportCounts {
  readonly out: string
  readonly files: readonly ShardFile[]
}

/** One row for each trial, exactly as the model saw it. */
export const usualForm: TraceOptions = {
  form: 'exact',
  reasoning: 'column',
  episodes: 'last',
  filter: 'all',
  subagents: 'separate',
  turns: 'alternate',
  sharegpt: false,
}

/** Exports the conversations of finished trials as a dataset, like `ot-agent traces export`. */
export function exportTraces(request: ExportRequest, control: RunControl = {}): Running<ExportProgress, ExportResult> {
  return new Running(async (emit) => {
    const { from, out, name = basename(resolve(out)), formats = ['parquet'], ...more } = request
    const { recursive = false, shardRows = null, labels, skip, onExported, overwrite = false, ...rest } = more
    const options = { ...usualForm, ...rest }
    checkForm(options)
    const found = await explainDisk(out, () => findInputs([from].flat(), recursive))
    const madeBy = `ot-agent ${version()}`
    const failureModes = labels === undefined ? undefined : await readLabels(labels)
    const files = new DatasetFiles({ name, formats, options, shardRows, madeBy, failureModes })
    const done = await explainDisk(out, () =>
      writeTraces({
        found,
        out,
        overwrite,
        maker: { ...files.noting(traceMaker(options)), skip },
        openSink: (dir) => files.open(dir),
        describe: (counts, written) => files.describe(counts, written),
        signal: control.signal ?? new AbortController().signal,
        onProgress: (trials, rows) => emit({ trials, rows }),
        ...(onExported && { onExported }),
      }),
    )
    return { out: resolve(out), ...done.counts, files: done.files }
  })
}

/** Loads the label reader only if there are labels. */
async function readLabels(path: string) {
  const { readFailureModes } = await import('../formats/traces/failure-modes.ts')
  return readFailureModes(path)
}

/** Rejects option combinations that one form does not support, before anything is read. */
function checkForm({ form, reasoning, subagents }: TraceOptions): void {
  if (form === 'exact' && subagents === 'inline')
    throw new UserError(
      '--subagents inline: expected --form readable, because an exact conversation contains no turns of subagents',
      'use --subagents separate, or add --form readable',
    )
  if (form === 'readable' && reasoning === 'inline')
    throw new UserError(
      '--reasoning inline: expected --form exact, because the readable form has its own place for reasoning',
      'remove --reasoning',
    )
}
