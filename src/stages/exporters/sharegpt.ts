import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { Sink } from '../../core/stage.ts'
import type { SqlSession } from '../../core/whole-set.ts'
import { writeAtomic } from '../../lib/files.ts'
import { renderCard } from '../shared/exporting/card.ts'
import { copyRows, fileFormats, rowsIn, type WrittenFile } from '../shared/exporting/files.ts'
import { renderDatasetInfo, renderTraining, type Trained, trainingOptions } from '../shared/exporting/llama-factory.ts'
import { planSplit, type Side } from '../shared/exporting/split.ts'
import {
  messagesColumn,
  type Spelling,
  traceColumnList,
  traceExportOptions,
} from '../shared/exporting/trace-columns.ts'
import { masked } from '../shared/rollout-text/turn-marks.ts'

/** Few enough to take only seconds. */
const replayedRows = 5

const options = z.strictObject({
  ...traceExportOptions,
  formats: z
    .array(z.enum(fileFormats))
    .min(1)
    .default([...fileFormats]),
  validation: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.05)
    .describe('Which part of the source tasks is held out; no task is on both sides.'),
  fileRows: z.int().positive().default(10_000),
  name: z
    .string()
    .regex(/^[\w.-]+$/)
    .optional()
    .describe('Default: the name of the recipe.'),
  training: trainingOptions.default(trainingOptions.parse({})),
  replay: z
    .union([
      z.int().nonnegative(),
      z.literal('require'),
      z.strictObject({ rows: z.int().positive().default(replayedRows), require: z.boolean().default(false) }),
    ])
    .default(replayedRows)
    .describe(
      'Rows to replay before they are written: a number, 0 for none; `require` stops the recipe when one of 5 does not hold.',
    ),
})

const folders = { parquet: 'data', jsonl: 'jsonl' } as const

/**
 * A training dataset: parquet and JSON lines in the Hub's layout, a card, and the files LLaMA-Factory needs to start.
 */
export default definePlugin<Sink, typeof options>({
  name: 'exporters/sharegpt',
  summary: 'Write traces as a dataset to train on, with a card and a LLaMA-Factory configuration',
  options,
  make: ({ formats, validation, fileRows, name, training, replay, ...shape }) => ({
    kind: 'exporter',
    takes: 'trace',
    replay: replayWish(replay),
    async write(input, { sql, outDir, made, seed }) {
      const split = await planSplit(sql, { view: input.view, kind: 'trace', seed, validation })
      const columns = traceColumnList(shape)
      const trained = await trainedOf(sql, input.view, shape.spelling)
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
        summary: `${rowsIn(files.train) + rowsIn(files.validation)} traces of agents at work on ${split.tasks.train + split.tasks.validation} tasks, as \`${messagesColumn[shape.spelling]}\` in the ${shape.spelling} spelling, exactly as they were sent to the model and replied.${trained.lastOnly ? ' Only the last message of a row is to be trained on.' : ''} ${split.tasks.validation} of the tasks are held out for validation; no task is on both sides.`,
        tags: ['traces', 'sft'],
        configs: {
          default: sides.map((side) => ({
            split: side,
            path: `${first === 'jsonl' ? 'jsonl' : 'data'}/${side}-*`,
            rows: rowsIn(files[side]),
          })),
        },
        sections: ['## Train on it', howToTrain[shape.spelling]],
      }
      await writeAtomic(join(outDir, 'README.md'), renderCard(card, made))
      const configs = shape.spelling === 'prompt-completion' ? [] : (['dataset_info.json', 'train.yaml'] as const)
      const info = renderDatasetInfo([...files.train, ...files.validation], shape.spelling, trained)
      const texts = { 'dataset_info.json': info, 'train.yaml': renderTraining(files, title, trained, training) }
      for (const config of configs) await writeAtomic(join(outDir, config), texts[config])
      const paths = [...written.values()].flatMap(({ train, validation: held }) => [...train, ...held])
      return {
        counts: { train: rowsIn(files.train), validation: rowsIn(files.validation) },
        files: ['README.md', ...configs, ...paths.map(({ path }) => path)],
      }
    },
  }),
})

function replayWish(asked: z.output<typeof options>['replay']): NonNullable<Sink['replay']> {
  if (typeof asked === 'number') return { rows: asked, require: false }
  return asked === 'require' ? { rows: replayedRows, require: true } : asked
}

const howToTrain: Readonly<Record<Spelling, string>> = {
  sharegpt: 'In this directory, with LLaMA-Factory installed: `llamafactory-cli train train.yaml`.',
  messages:
    'With TRL: `SFTTrainer` reads `messages` and, with `assistant_only_loss`, trains on every reply. `train` in each message says which replies are meant to be trained on. LLaMA-Factory reads it too, without calls of tools: `llamafactory-cli train train.yaml`.',
  'prompt-completion': 'With TRL: `SFTTrainer` reads `prompt` and `completion` and trains on the completion only.',
}

/**
 * How the rows are to be trained on, which must be the same for all: a trainer's configuration applies to every row.
 */
async function trainedOf(sql: SqlSession, view: string, spelling: Spelling): Promise<Trained> {
  const flagged = `len(list_filter(coalesce(turn_marks, []), lambda t: t.mark = '${masked}')) > 0`
  const [counts = {}] = await sql.rows(
    `SELECT count(*) AS n, count(*) FILTER (train_on = 'last') AS last, count(tool_definitions) AS tools, count(*) FILTER (${flagged}) AS flagged FROM ${view}`,
  )
  const [rows, last, tools, withFlags] = [counts.n, counts.last, counts.tools, counts.flagged].map(Number)
  if (last !== 0 && last !== rows && spelling !== 'messages')
    throw new UserError(
      `exporters/sharegpt: ${last} of ${rows} rows are to be trained on their last message only, the others on every reply`,
      'put maps/mask-turns before the stage that mixes them, so that it sees all rows',
    )
  if (spelling === 'prompt-completion' && last !== rows)
    throw new UserError(
      'exporters/sharegpt: prompts and completions train on the last message only, but the rows on every reply',
      "put maps/mask-turns with how: 'expand' before it",
    )
  if (withFlags !== 0 && spelling === 'sharegpt')
    throw new UserError(
      'exporters/sharegpt: LLaMA-Factory cannot skip single messages of a row, but maps/mask-turns flagged some',
      "use how: 'expand' or 'cut' there, or spelling: 'messages' here",
    )
  return { lastOnly: rows !== 0 && last === rows, hasTools: tools !== 0 }
}
