import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { UserError } from '../../core/errors.ts'
import { isMissing, writeAtomic } from '../../lib/files.ts'
import { makeTraceTally, type TraceTally } from '../../stats/trace-stats.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { writeOutputFile } from '../run/output-file.ts'
import { makeTicker } from '../ticker.ts'
import { filterOption, pathOption, recursiveOption } from './options.ts'
import { factsIn } from './read-facts.ts'
import { plotsOf, renderPage } from './stats-page.ts'
import { printStats, statsDocument } from './stats-table.ts'

/** `ot-agent traces stats`: what is in trials or in a dataset made of them. */
export default () =>
  new Command()
    .description(
      'Counts what is in the traces of jobs, or in a dataset of traces: turns, tokens, results, what failed and why,\n' +
        'how often each task was solved, and prompts that several tasks share.',
    )
    .argument('[file...]', 'parquet files of traces')
    .addOption(pathOption())
    .addOption(recursiveOption())
    .addOption(filterOption())
    .option('--html <file>', 'also write a page with tables and plots')
    .option('--svg <dir>', 'also write each plot as an SVG file')
    .option('--json', 'print the numbers as JSON')
    .action(async (files, { path = [], recursive = false, filter, html, svg, json }) => {
      const all = [...path, ...files]
      if (all.length === 0)
        throw new UserError(
          'expected jobs or a parquet file, got neither',
          'ot-agent traces stats -p jobs, or a FILE.parquet',
        )
      const tally = await collect(all, recursive, filter)
      const stats = tally.stats()
      if (html !== undefined) await writeOutputFile(html, renderPage(tally))
      if (svg !== undefined) await explainDisk(svg, () => writePlots(svg, tally))
      if (json) printJson(statsDocument(stats))
      else printStats(stats)
    })

async function collect(
  paths: readonly string[],
  recursive: boolean,
  filter: 'all' | 'success' | 'failure',
): Promise<TraceTally> {
  const tally = makeTraceTally()
  const tick = makeTicker()
  const interrupt = interruptSignal()
  let seen = 0
  try {
    for (const path of paths) {
      await checkThere(path)
      for await (const facts of factsIn(path, { recursive, filter, signal: interrupt.signal, onBroken: note })) {
        tally.add(facts)
        tick(`${++seen} traces counted`)
      }
    }
  } finally {
    interrupt.stop()
  }
  return tally
}

async function checkThere(path: string): Promise<void> {
  try {
    await stat(path)
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(
      `${path}: expected jobs or a parquet file, got nothing there`,
      'name a job, a directory of jobs, or a dataset',
    )
  }
}

async function writePlots(dir: string, tally: TraceTally): Promise<void> {
  await mkdir(dir, { recursive: true })
  for (const { name, svg } of plotsOf(tally)) await writeAtomic(join(dir, `${name}.svg`), svg)
}
