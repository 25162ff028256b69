import { basename, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import { limitOfFile, makeTraces, refuseTrial, type TraceOptions } from '../../formats/traces/make-traces.ts'
import type { TraceRow } from '../../formats/traces/row.ts'
import type { ShardFile, TraceFormat } from '../../formats/traces/shards.ts'
import { oneLine } from '../../lib/visible.ts'
import { type ExportCounts, exportTraces, type TraceMaker } from '../../run/traces/export-traces.ts'
import { findInputs } from '../../run/traces/find-inputs.ts'
import { explainDisk } from '../disk-errors.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, wholeNumber } from '../output.ts'
import { makeTicker, megabytes } from '../ticker.ts'
import { version } from '../version.ts'
import { DatasetFiles } from './dataset-files.ts'
import {
  episodesOption,
  filterOption,
  formOption,
  parseFormats,
  pathOption,
  reasoningOption,
  recursiveOption,
  subagentsOption,
  turnsOption,
} from './options.ts'

/** `ot-agent traces export`: finished trials become a dataset to train on. */
export default () =>
  new Command()
    .description(
      'Writes the conversations of finished trials as a dataset: data/train-*.parquet with a card, as the Hub lays them out.\n' +
        'Every row says where it comes from; every trial without one is in drops.jsonl with the reason.',
    )
    .addOption(pathOption().makeOptionMandatory())
    .requiredOption('--out <dir>', 'directory of the dataset; it appears whole or not at all')
    .option('--format <formats>', 'parquet, jsonl or both, with a comma', parseFormats, ['parquet'] as TraceFormat[])
    .addOption(formOption())
    .addOption(reasoningOption())
    .addOption(episodesOption())
    .addOption(filterOption())
    .addOption(subagentsOption())
    .addOption(turnsOption())
    .option('--sharegpt', 'add the column conversations_sharegpt, as LLaMA-Factory takes conversations with tools')
    .addOption(recursiveOption())
    .option('--shard-rows <n>', 'rows a file holds at most; without it a file ends at about 500 MB', wholeNumber(1))
    .option('--overwrite', 'replace an earlier export')
    .option('--json', 'print the result as JSON')
    .action(async ({ path, out, format, recursive, shardRows, overwrite, json, ...rest }) => {
      const options: TraceOptions = { ...rest, sharegpt: rest.sharegpt ?? false }
      checkForm(options)
      const found = await explainDisk(out, () => findInputs(path, recursive ?? false))
      const files = new DatasetFiles({
        name: basename(resolve(out)),
        formats: format,
        options,
        shardRows: shardRows ?? null,
        madeBy: `ot-agent ${version()}`,
      })
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const done = await explainDisk(out, () =>
          exportTraces({
            found,
            out,
            overwrite: overwrite ?? false,
            maker: files.noting(traceMaker(options)),
            openSink: (dir) => files.open(dir),
            describe: (counts, written) => files.describe(counts, written),
            signal: interrupt.signal,
            onProgress: (trials, rows) => tick(`${trials} trials read, ${rows} rows written`),
          }),
        )
        report(out, done, json ?? false)
      } finally {
        interrupt.stop()
      }
    })

/** What is wrong with one form is said before anything is read. */
function checkForm({ form, reasoning, subagents }: TraceOptions): void {
  if (form === 'exact' && subagents === 'inline')
    throw new UserError(
      '--subagents inline: an exact conversation holds no turns of others',
      'use --subagents separate, or add --form readable',
    )
  if (form === 'readable' && reasoning === 'inline')
    throw new UserError(
      '--reasoning inline: the readable form has its own place for reasoning',
      'leave --reasoning out',
    )
}

/** How trials become rows, for every reader of trials. */
export function traceMaker(options: TraceOptions): TraceMaker<TraceRow> {
  return {
    refuse: (record) => refuseTrial(record, options),
    limitOf: limitOfFile,
    make: (trial) => makeTraces(trial, options),
  }
}

function report(
  out: string,
  { counts, files }: { readonly counts: ExportCounts; readonly files: readonly ShardFile[] },
  json: boolean,
): void {
  if (json) {
    printJson({ out: resolve(out), ...counts, files })
    return
  }
  for (const [reason, count] of Object.entries(counts.drops)) note(`left out, ${reason}: ${count}`)
  for (const { job, planned, trials } of counts.inputs) {
    if (planned !== null && trials < planned)
      note(`${oneLine(job)}: ${planned - trials} of ${planned} trials are not finished`)
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const what = `${counts.rows} traces of ${counts.exported} of ${counts.trials} trials`
  process.stdout.write(
    `${what}, ${megabytes(bytes)} in ${files.length === 1 ? 'one file' : `${files.length} files`}: ${out}\n`,
  )
}
