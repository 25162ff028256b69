import { Command } from '@commander-js/extra-typings'
import { type ExportResult, exportTraces, type TraceFormat } from '../../app/export-traces.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { jobPaths } from '../../app/jobs/find-job.ts'
import { UserError } from '../../core/errors.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'
import {
  episodesOption,
  filterOption,
  formOption,
  jobsDirOption,
  parseFormats,
  pathOption,
  reasoningOption,
  recursiveOption,
  subagentsOption,
  turnsOption,
} from './options.ts'

/** `ot-agent traces export`: exports finished trials as a dataset to train on. */
export default () =>
  new Command()
    .description(
      'Writes the conversations of finished trials as a dataset: data/train-*.parquet with a card, in the layout of the Hub.\n' +
        'Every row says where it comes from; drops.jsonl lists every trial without a row, with the reason.',
    )
    .argument('[path...]', 'the same as --path')
    .addOption(pathOption())
    .addOption(jobsDirOption())
    .requiredOption('--out <dir>', 'directory to write the dataset to; it appears only once it is complete')
    .option('--format <formats>', 'parquet, jsonl or both, separated by a comma', parseFormats, [
      'parquet',
    ] as TraceFormat[])
    .addOption(formOption())
    .addOption(reasoningOption())
    .addOption(episodesOption())
    .addOption(filterOption())
    .addOption(subagentsOption())
    .addOption(turnsOption())
    .option(
      '--sharegpt',
      'add the column conversations_sharegpt, the form LLaMA-Factory needs for conversations with tools',
    )
    .option('--labels <file>', 'add the column failure_modes from a file that jobs report --labels wrote')
    .addOption(recursiveOption())
    .option('--shard-rows <n>', 'maximum number of rows per file (default: about 500 MB per file)', wholeNumber(1))
    .option('--overwrite', 'replace an earlier export')
    .option('--json', 'print the result as JSON')
    .action(
      async (more, { path = [], jobsDir, out, format, recursive, shardRows, labels, overwrite, json, ...rest }) => {
        const from = await jobPaths([...path, ...more], jobsDir)
        if (from.length === 0)
          throw new UserError('traces export: expected jobs, got none', 'ot-agent traces export JOB --out DIR')
        const interrupt = interruptSignal()
        const request = { ...rest, from, out, formats: format, recursive, shardRows, labels, overwrite }
        const run = exportTraces(request, { signal: interrupt.signal })
        try {
          const tick = makeTicker()
          for await (const { trials, rows } of run) tick(`${trials} trials read, ${rows} rows written`)
          report(out, await run, json ?? false)
        } finally {
          interrupt.stop()
        }
      },
    )

function report(out: string, { files, ...counts }: ExportResult, json: boolean): void {
  if (json) {
    printJson({ ...counts, files })
    return
  }
  for (const [reason, count] of Object.entries(counts.drops)) note(`skipped, ${reason}: ${count}`)
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
