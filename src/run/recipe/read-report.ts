import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { replayResultSchema } from '../../core/replay.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { RecipeReport } from './report.ts'

const schema = z.object({
  schema: z.literal('recipe-report/1'),
  name: z.string(),
  rehearsal: z.literal(true).optional(),
  stages: z.array(
    z.object({
      id: z.string(),
      use: z.string(),
      taken: z.number(),
      given: z.number(),
      drops: z.record(z.string(), z.number()),
    }),
  ),
  steps: z.array(
    z.object({
      id: z.string(),
      digest: z.string(),
      dir: z.string(),
      rows: z.number(),
      sources: z.record(z.string(), z.number()).default({}),
    }),
  ),
  outputs: z.array(
    z.object({
      id: z.string(),
      dir: z.string(),
      counts: z.record(z.string(), z.number()),
      replay: replayResultSchema.nullish(),
    }),
  ),
})

/** Reads a finished run's report. */
export async function readReport(dir: string): Promise<RecipeReport> {
  const path = join(dir, 'manifest.json')
  const text = await readTextIfExists(path)
  if (text === null)
    throw new UserError(
      `${dir}: expected a finished run of a recipe, found none`,
      'run or finish one with ot-agent recipe run FILE -o DIR',
    )
  const parsed = schema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new UserError(`${path}: expected the manifest of a recipe run`, 'ot-agent recipe run FILE -o DIR writes one')
}
