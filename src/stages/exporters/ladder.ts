import { join } from 'node:path'
import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { Sink } from '../../core/stage.ts'
import { sqlText } from '../../lib/duckdb.ts'
import { writeAtomic } from '../../lib/files.ts'
import { renderCard } from '../shared/exporting/card.ts'
import { copyRows, rowsIn } from '../shared/exporting/files.ts'
import { planSplit, sampleOrder } from '../shared/exporting/split.ts'
import { traceColumnList, traceExportOptions } from '../shared/exporting/trace-columns.ts'

const options = z.strictObject({
  ...traceExportOptions,
  sizes: z
    .array(z.int().positive())
    .min(1)
    .default([316, 1000, 3160, 10_000, 31_600, 100_000])
    .describe('Rows per rung; a rung with too few rows is skipped.'),
  validation: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.05)
    .describe('The same split as in the dataset next to it, so that no rung contains a validation task.'),
  fileRows: z.int().positive().default(10_000),
})

/** The rungs used in a rehearsal. */
const fewRows = [1, 2]

/** Nested samples of growing size, to see how a model improves with more data. */
export default definePlugin<Sink, typeof options>({
  name: 'exporters/ladder',
  summary: 'Write nested samples of growing size: 316, 1K, 3.16K, 10K, 31.6K, 100K',
  options,
  make: ({ sizes, validation, fileRows, ...shape }) => ({
    kind: 'exporter',
    takes: 'trace',
    async write(input, { sql, outDir, made, seed, log, rehearsal }) {
      const split = await planSplit(sql, { view: input.view, kind: 'trace', seed, validation })
      const order = sampleOrder(seed)
      if (rehearsal) rehearsal.substituted(`rungs of ${fewRows.join(' and ')} rows for ${sizes.join(', ')}`)
      const wanted = [...new Set(rehearsal ? fewRows : sizes)].sort((a, b) => a - b)
      const [{ rows = 0 } = {}] = await sql.rows(
        `SELECT count(*) AS rows FROM ${input.view} WHERE ${split.where.train}`,
      )
      const rungs = wanted.filter((size) => size <= Number(rows))
      if (rungs.length < wanted.length) log(`${rows} rows to train on: no rung above ${rungs.at(-1) ?? 0}`)
      const counts: Record<string, number> = {}
      const files: string[] = []
      for (const size of rungs) {
        const [last = {}] = await sql.rows(
          `SELECT ${order} AS place FROM ${input.view} WHERE ${split.where.train} ORDER BY place LIMIT 1 OFFSET ${size - 1}`,
        )
        const where = `${split.where.train} AND ${order} <= ${sqlText(String(last.place))}`
        const written = await copyRows(sql, {
          ...{ input, side: 'train', where, columns: traceColumnList(shape), format: 'parquet' },
          ...{ outDir, folder: String(size), fileRows },
        })
        counts[size] = rowsIn(written)
        files.push(...written.map(({ path }) => path))
      }
      const card = {
        name: `${made.recipe}, by size`,
        summary: `Samples of growing size; each holds all rows of the one before. ${rows} rows to train on were there.`,
        tags: ['traces', 'sft'],
        configs: Object.fromEntries(
          rungs.map((size) => [String(size), [{ split: 'train', path: `${size}/train-*`, rows: counts[size] ?? 0 }]]),
        ),
        sections: [],
      }
      await writeAtomic(join(outDir, 'README.md'), renderCard(card, made))
      return { counts, files: ['README.md', ...files] }
    },
  }),
})
