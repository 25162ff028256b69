import { join } from 'node:path'
import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { Sink } from '../../core/stage.ts'
import type { SqlSession } from '../../core/whole-set.ts'
import { sqlText } from '../../lib/duckdb.ts'
import { writeAtomic } from '../../lib/files.ts'
import { renderCard } from '../shared/exporting/card.ts'
import { copyRows, rowsIn } from '../shared/exporting/files.ts'
import { planSplit, type Side } from '../shared/exporting/split.ts'

const trainers = ['skyrl', 'verl', 'trl'] as const
type Trainer = (typeof trainers)[number]

const options = z.strictObject({
  trainers: z
    .array(z.enum(trainers))
    .min(1)
    .default([...trainers]),
  validation: z.number().min(0).max(0.5).default(0.05),
  envClass: z.string().min(1).default('harbor').describe('What SkyRL calls the environment that runs the tasks.'),
  fileRows: z.int().positive().default(10_000),
})

/**
 * Exports tasks for reinforcement learning: the tasks themselves, and one set of prompts for each supported trainer.
 */
export default definePlugin<Sink, typeof options>({
  name: 'exporters/rl',
  summary: 'Write tasks as prompt sets for SkyRL, verl and TRL, with the tasks next to them',
  options,
  make: ({ trainers: wanted, validation, envClass, fileRows }) => ({
    kind: 'exporter',
    takes: 'task',
    async write(input, { sql, outDir, made, seed }) {
      const split = await planSplit(sql, { view: input.view, kind: 'task', seed, validation })
      const sides = split.tasks.validation > 0 ? (['train', 'validation'] as const) : (['train'] as const)
      await markRepeats(sql, input.view)
      const configs: Record<string, { split: Side; path: string; rows: number }[]> = {}
      const files: string[] = []
      for (const folder of ['tasks', ...wanted] as const) {
        configs[folder] = []
        for (const side of sides) {
          const columns = columnsFor[folder](side, envClass)
          const where = folder === 'tasks' ? `${split.where[side]} AND ${isFirst}` : split.where[side]
          const written = await copyRows(sql, {
            ...{ input, side, where, columns, format: 'parquet', compression: 'snappy', outDir, folder, fileRows },
          })
          configs[folder].push({ split: side, path: `${folder}/${side}-*`, rows: rowsIn(written) })
          files.push(...written.map(({ path }) => path))
        }
      }
      const rowsOf = (folder: string, side: Side) => configs[folder]?.find(({ split }) => split === side)?.rows ?? 0
      const prompts = wanted[0] ?? 'tasks'
      const counts = Object.fromEntries(sides.map((side) => [side, rowsOf(prompts, side)]))
      const card = {
        name: `${made.recipe}, tasks`,
        summary: `${rowsOf('tasks', 'train')} tasks to learn on and ${rowsOf('tasks', 'validation')} held out. Their tests give the reward: a prompt names its task by \`task\`, which is its \`path\` in \`tasks/\`.`,
        tags: ['tasks', 'rl'],
        configs,
        sections: ['`ot-agent tasks unpack` makes directories of the files in `tasks/` again.'],
      }
      await writeAtomic(join(outDir, 'README.md'), renderCard(card, made))
      return { counts, files: ['README.md', ...files] }
    },
  }),
})

/** Marks tasks that occur more than once: each gets several prompts but is packed once. */
async function markRepeats(sql: SqlSession, view: string): Promise<void> {
  await sql.run(
    `CREATE OR REPLACE TEMP TABLE repeats AS SELECT row FROM ${view} QUALIFY row_number() OVER (PARTITION BY id, digest ORDER BY row) > 1`,
  )
  await sql.run(
    `CREATE OR REPLACE TEMP TABLE namesakes AS SELECT id FROM ${view} GROUP BY id HAVING count(DISTINCT digest) > 1`,
  )
}

const isFirst = 'row NOT IN (FROM repeats)'

/**
 * A task's name in prompts and packed tasks: its id, plus a few digits of its content's digest if other tasks have the
 * same id.
 */
const name = "CASE WHEN id IN (FROM namesakes) THEN id || '-' || left(digest, 8) ELSE id END"

const prompt = `[{'role': 'user', 'content': instruction}] AS prompt`

/** What every row contains besides its prompt. */
const extra = (side: string) =>
  `{'split': ${sqlText(side)}, 'index': row, 'task': ${name}, 'task_digest': digest, 'source': source, 'lineage': lineage}`

const columnsFor: Readonly<Record<'tasks' | Trainer, (side: string, envClass: string) => string>> = {
  tasks: () => `${name} AS path, archive AS task_binary`,
  skyrl: (side, envClass) =>
    `source AS data_source, ${prompt}, ${sqlText(envClass)} AS env_class, {'method': 'rule', 'ground_truth': digest} AS reward_spec, ${extra(side)} AS extra_info`,
  verl: (side) =>
    `source AS data_source, ${prompt}, 'agent' AS ability, {'style': 'rule', 'ground_truth': digest} AS reward_model, ${extra(side)} AS extra_info`,
  trl: () => `${prompt}, ${name} AS task, digest AS task_digest, source AS data_source, lineage`,
}
