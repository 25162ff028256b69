import { join } from 'node:path'
import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { Sink } from '../../core/stage.ts'
import { writeAtomic } from '../../lib/files.ts'
import { renderCard } from '../exporting/card.ts'
import { copyRows, fileFormats, rowsIn, type WrittenFile } from '../exporting/files.ts'
import { renderDatasetInfo, renderTraining, trainingOptions } from '../exporting/llama-factory.ts'
import { planSplit, type Side } from '../exporting/split.ts'
import { traceColumnList, traceExportOptions } from '../exporting/trace-columns.ts'

const options = z.strictObject({
  ...traceExportOptions,
  formats: z
    .array(z.enum(fileFormats))
    .min(1)
    .default([...fileFormats]),
  /** Which part of the source tasks is held out; no task is on both sides. */
  validation: z.number().min(0).max(0.5).default(0.05),
  fileRows: z.int().positive().default(10_000),
  /** Default: the name of the recipe. */
  name: z
    .string()
    .regex(/^[\w.-]+$/)
    .optional(),
  training: trainingOptions.default(trainingOptions.parse({})),
})

const folders = { parquet: 'data', jsonl: 'jsonl' } as const

/** A dataset to train on: parquet and JSON lines in the Hub's layout, a card, and what LLaMA-Factory needs to begin. */
export default definePlugin<Sink, typeof options>({
  name: 'exporters/sharegpt',
  summary: 'Write traces as a dataset to train on, with a card and a LLaMA-Factory configuration',
  options,
  make: ({ formats, validation, fileRows, name, training, ...shape }) => ({
    takes: 'trace',
    async write(input, { sql, outDir, made, seed }) {
      const split = await planSplit(sql, { view: input.view, kind: 'trace', seed, validation })
      const columns = traceColumnList(shape)
      const sides = split.tasks.validation > 0 ? (['train', 'validation'] as const) : (['train'] as const)
      const copy = async (format: (typeof fileFormats)[number]) => {
        const files: Record<Side, readonly WrittenFile[]> = { train: [], validation: [] }
        for (const side of sides)
          files[side] = await copyRows(sql, {
            ...{ input, side, where: split.where[side], columns, format, outDir, folder: folders[format], fileRows },
          })
        return files
      }
      const written = new Map<string, Record<Side, readonly WrittenFile[]>>()
      for (const format of formats) written.set(format, await copy(format))
      const [[first, files] = ['parquet', { train: [], validation: [] }]] = written
      const title = name ?? made.recipe
      const card = {
        name: title,
        summary: `${rowsIn(files.train) + rowsIn(files.validation)} traces of agents at work on ${split.tasks.train + split.tasks.validation} tasks, as \`conversations\` in the ${shape.spelling} spelling. ${split.tasks.validation} of the tasks are held out for validation; no task is on both sides.`,
        tags: ['traces', 'sft'],
        configs: {
          default: sides.map((side) => ({
            split: side,
            path: `${first === 'jsonl' ? 'jsonl' : 'data'}/${side}-*`,
            rows: rowsIn(files[side]),
          })),
        },
        sections: [
          '## Train on it',
          'In this directory, with LLaMA-Factory installed: `llamafactory-cli train train.yaml`.',
        ],
      }
      await writeAtomic(join(outDir, 'README.md'), renderCard(card, made))
      await writeAtomic(
        join(outDir, 'dataset_info.json'),
        renderDatasetInfo([...files.train, ...files.validation], shape.spelling),
      )
      await writeAtomic(join(outDir, 'train.yaml'), renderTraining(files, title, training))
      const paths = [...written.values()].flatMap(({ train, validation: held }) => [...train, ...held])
      return {
        counts: { train: rowsIn(files.train), validation: rowsIn(files.validation) },
        files: ['README.md', 'dataset_info.json', 'train.yaml', ...paths.map(({ path }) => path)],
      }
    },
  }),
})
