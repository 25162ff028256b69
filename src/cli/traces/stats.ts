import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { several } from '../../app/flags/values.ts'
import { jobPaths } from '../../app/jobs/find-job.ts'
import { type TraceTally, tallyTraces } from '../../app/traces/trace-stats.ts'
import { UserError } from '../../core/errors.ts'
import { writeAtomic } from '../../lib/files.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { writeOutputFile } from '../run/output-file.ts'
import { makeTicker } from '../ticker.ts'
import { filterOption, jobsDirOption, pathOption, recursiveOption } from './options.ts'
import { plotsOf, renderPage } from './stats-page.ts'
import { printStats, statsDocument } from './stats-table.ts'

/** `ot-agent traces stats`: statistics of trials, or of a dataset made from them. */
export default () =>
  new Command()
    .description(
      'Counts what is in the traces of jobs, or in a dataset of traces: turns, tokens, results, what failed and why, how ' +
        'often each task was solved, and prompts that several tasks share.',
    )
    .argument('[path...]', 'parquet files of traces, patterns of such files, or the same as --path')
    .addOption(pathOption())
    .addOption(jobsDirOption())
    .addOption(recursiveOption())
    .addOption(filterOption())
    .option(
      '--count <phrase>',
      'also count this text in the messages, by role, for example "<think>"; repeatable',
      several,
    )
    .option('--html <file>', 'also write a page with tables and plots')
    .option('--svg <dir>', 'also write each plot as an SVG file')
    .option('--json', 'print the numbers as JSON')
    .action(async (more, { path = [], jobsDir, recursive = false, filter, count = [], html, svg, json }) => {
      const all = await jobPaths([...path, ...more], jobsDir)
      if (all.length === 0)
        throw new UserError(
          'expected jobs or a parquet file, got neither',
          'ot-agent traces stats -p jobs, or a FILE.parquet',
        )
      const tick = makeTicker()
      const interrupt = interruptSignal()
      const follower = { onBroken: note, onTrace: (seen: number) => tick(`${seen} traces counted`) }
      const ask = { recursive, filter, phrases: count, signal: interrupt.signal, ...follower }
      const { tally, phrases } = await tallyTraces(all, ask).finally(interrupt.stop)
      const stats = tally.stats()
      if (html !== undefined) await writeOutputFile(html, renderPage(tally, phrases))
      if (svg !== undefined) await explainDisk(svg, () => writePlots(svg, tally))
      if (json) printJson({ ...statsDocument(stats), ...(count.length > 0 && { phrases }) })
      else printStats(stats, phrases)
    })

async function writePlots(dir: string, tally: TraceTally): Promise<void> {
  await mkdir(dir, { recursive: true })
  for (const { name, svg } of plotsOf(tally)) await writeAtomic(join(dir, `${name}.svg`), svg)
}
