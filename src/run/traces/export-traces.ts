import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Drop, DropReason, TrialWithFiles } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { openJsonLines } from '../../lib/jsonl.ts'
import type { FoundInputs, TraceInput } from './find-inputs.ts'
import { publishDir } from './publish-dir.ts'
import { readTrials, type TrialReading } from './read-trials.ts'

/** Turns a trial into rows of any kind, and reports what was left out. */
export interface TraceMaker<Row> extends TrialReading {
  make(trial: TrialWithFiles): Iterable<{ readonly row: Row } | { readonly drop: Drop }>
}

/** Where rows go: files in the directory of the dataset. */
export interface TraceSink<Row, File> {
  add(row: Row): Promise<void>
  finish(): Promise<readonly File[]>
  /** Closes open files when the export fails. */
  abandon(): Promise<void>
}

/** One line of drops.jsonl. */
export interface DropLine extends Drop {
  readonly job: string
  /** Null when a whole job could not be read. */
  readonly trial: string | null
  readonly task: string | null
}

export interface InputCount {
  readonly job: string
  readonly jobId: string | null
  readonly layout: string
  readonly planned: number | null
  readonly trials: number
  readonly exported: number
}

export interface ExportCounts {
  /** Finished trials that were examined. */
  readonly trials: number
  /** How many of these gave at least one row. */
  readonly exported: number
  readonly rows: number
  /** Counts trials that gave no row, and single trajectories left out of trials that did. */
  readonly drops: Readonly<Partial<Record<DropReason, number>>>
  readonly inputs: readonly InputCount[]
}

export interface ExportAsk<Row, File> {
  readonly found: FoundInputs
  readonly out: string
  readonly overwrite: boolean
  readonly maker: TraceMaker<Row>
  readonly openSink: (dir: string) => TraceSink<Row, File>
  /** Renders the texts that accompany the files, by name: the card, the manifest. */
  readonly describe: (counts: ExportCounts, files: readonly File[]) => Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onProgress?: (trials: number, rows: number) => void
  /** Called for each trial that gave rows. */
  readonly onExported?: (record: TrialRecord) => void
}

/** Writes a dataset of traces, all or nothing; memory does not grow with the number of trials. */
export async function exportTraces<Row, File>(
  ask: ExportAsk<Row, File>,
): Promise<{ readonly counts: ExportCounts; readonly files: readonly File[] }> {
  return publishDir(ask.out, ask.overwrite, async (dir) => {
    const written = await fill(dir, ask)
    const texts = ask.describe(written.counts, written.files)
    for (const [name, text] of Object.entries(texts)) await writeFile(join(dir, name), text)
    return written
  })
}

async function fill<Row, File>(dir: string, ask: ExportAsk<Row, File>) {
  const tally = new Tally(ask.found.inputs)
  const drops = await openJsonLines(join(dir, 'drops.jsonl'))
  const dropped = async (line: DropLine) => {
    tally.drop(line)
    drops.append(line)
    if (tally.dropped % 1000 === 0) await drops.flush()
  }
  const sink = ask.openSink(dir)
  try {
    for (const { dir: at, why } of ask.found.broken) await dropped(unreadableJob(at, why))
    for await (const read of readTrials(ask.found.inputs, ask.maker, ask.signal)) {
      const record = 'trial' in read ? read.trial.record : read.record
      let rows = 0
      for (const made of 'trial' in read ? ask.maker.make(read.trial) : [read]) {
        if ('drop' in made) await dropped(lineOf(made.drop, read.input, record))
        else {
          await sink.add(made.row)
          rows++
        }
      }
      tally.trial(read.input, rows)
      if (rows > 0) ask.onExported?.(record)
      ask.onProgress?.(tally.trials, tally.rows)
    }
    return { files: await sink.finish(), counts: tally.counts() }
  } catch (error) {
    await sink.abandon()
    throw error
  } finally {
    await drops.close()
  }
}

function lineOf(drop: Drop, { job }: TraceInput, { name, task }: TrialRecord): DropLine {
  return { job, trial: name, task: task.name, ...drop }
}

function unreadableJob(dir: string, why: string): DropLine {
  const reason = 'job-unreadable'
  return { job: basename(dir), trial: null, task: null, reason, detail: why, traceSource: null, step: null }
}

class Tally {
  trials = 0
  rows = 0
  dropped = 0
  #exported = 0
  readonly #drops = new Map<DropReason, number>()
  readonly #inputs: Map<TraceInput, { trials: number; exported: number }>

  constructor(inputs: readonly TraceInput[]) {
    this.#inputs = new Map(inputs.map((input) => [input, { trials: 0, exported: 0 }]))
  }

  trial(input: TraceInput, rows: number): void {
    const counts = this.#inputs.get(input)
    const exported = rows > 0 ? 1 : 0
    this.trials++
    this.rows += rows
    this.#exported += exported
    if (!counts) return
    counts.trials++
    counts.exported += exported
  }

  drop({ reason }: DropLine): void {
    this.dropped++
    this.#drops.set(reason, (this.#drops.get(reason) ?? 0) + 1)
  }

  counts(): ExportCounts {
    const inputs = [...this.#inputs].map(([{ job, jobId, layout, planned }, counts]) => ({
      job,
      jobId,
      layout,
      planned,
      ...counts,
    }))
    const drops = Object.fromEntries([...this.#drops].sort(([a], [b]) => (a < b ? -1 : 1)))
    return { trials: this.trials, exported: this.#exported, rows: this.rows, drops, inputs }
  }
}
