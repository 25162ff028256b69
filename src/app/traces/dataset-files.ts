import { renderCard } from '../../formats/traces/card.ts'
import type { FailureModes } from '../../formats/traces/failure-modes.ts'
import type { TraceOptions } from '../../formats/traces/make-traces.ts'
import { columnsOf, type ExtraColumn, type TraceRow } from '../../formats/traces/row.ts'
import { RunCollector } from '../../formats/traces/run-facts.ts'
import { rowBytes, ShardedTraces, type ShardFile, type TraceFormat } from '../../formats/traces/shards.ts'
import { utcNow } from '../../lib/time.ts'
import type { ExportCounts, TraceMaker, TraceSink } from '../../run/traces/export-traces.ts'
import { manifestFile, manifestSchema } from '../../run/traces/publish-dir.ts'

export interface DatasetAsk {
  readonly name: string
  readonly formats: readonly TraceFormat[]
  readonly options: TraceOptions
  readonly shardRows: number | null
  readonly madeBy: string
  /** Why trials failed, if the dataset is to include it. */
  readonly failureModes?: FailureModes | undefined
}

/** Further results are counted together, because rewards may be any number. */
const resultsLimit = 100

/** The files of one dataset: rows in every requested format, then its card and manifest. */
export class DatasetFiles {
  readonly #ask: DatasetAsk
  readonly #extra: readonly ExtraColumn[]
  #dataBytes = 0
  readonly #results = new Map<string, number>()
  readonly #runs = new RunCollector()

  constructor(ask: DatasetAsk) {
    this.#ask = ask
    this.#extra = [
      ...(ask.options.sharegpt ? (['conversations_sharegpt'] as const) : []),
      ...(ask.failureModes ? (['failure_modes'] as const) : []),
    ]
  }

  open(dir: string): TraceSink<TraceRow, ShardFile> {
    const { formats, shardRows } = this.#ask
    const outputs = formats.map((format) => new ShardedTraces(dir, format, { extra: this.#extra, shardRows }))
    return {
      add: async (row) => {
        const bytes = rowBytes(row)
        this.#count(row, bytes)
        for (const output of outputs) await output.add(row, bytes)
      },
      finish: async () => {
        const files: ShardFile[] = []
        for (const output of outputs) files.push(...(await output.finish()))
        return files
      },
      abandon: async () => {
        for (const output of outputs) await output.abandon()
      },
    }
  }

  /** Wraps a maker to add the extra column, and to record in the manifest how each trial with a row was run. */
  noting(maker: TraceMaker<TraceRow>): TraceMaker<TraceRow> {
    const runs = this.#runs
    const { failureModes } = this.#ask
    return {
      ...maker,
      *make(trial) {
        let rows = 0
        for (const made of maker.make(trial)) {
          if ('row' in made && rows++ === 0) runs.add(trial.job, trial.record, trial.files)
          yield 'row' in made && failureModes ? { row: { ...made.row, ...failureModes.columnOf(made.row) } } : made
        }
      },
    }
  }

  describe(counts: ExportCounts, files: readonly ShardFile[]): Readonly<Record<string, string>> {
    const { name, options, madeBy, failureModes } = this.#ask
    if (counts.rows > 0) failureModes?.checkUsed()
    const results = Object.fromEntries([...this.#results].sort(([, a], [, b]) => b - a))
    const asked = Object.fromEntries(Object.entries(options).map(([key, value]) => [key, String(value)]))
    const card = {
      name,
      extra: this.#extra,
      dataBytes: this.#dataBytes,
      files,
      results,
      madeBy,
      options: asked,
    }
    const manifest = {
      schema: manifestSchema,
      createdAt: utcNow(),
      madeBy,
      options,
      ...counts,
      runs: this.#runs.runs(),
      results,
      dataBytes: this.#dataBytes,
      columns: columnsOf(this.#extra),
      files,
    }
    return {
      'README.md': renderCard({ ...card, ...counts }),
      [manifestFile]: `${JSON.stringify(manifest, null, 2)}\n`,
    }
  }

  #count(row: TraceRow, bytes: number): void {
    this.#dataBytes += bytes
    const given = row.result ?? 'not verified'
    const result = this.#results.has(given) || this.#results.size < resultsLimit ? given : 'other results'
    this.#results.set(result, (this.#results.get(result) ?? 0) + 1)
  }
}
