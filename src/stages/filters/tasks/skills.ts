import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { WholeStage } from '../../../core/stage.ts'
import { makeRandom } from '../../../lib/random.ts'
import { saveChoice } from '../../shared/mixing/choice.ts'
import { coverSkills } from '../../shared/mixing/cover-skills.ts'
import { solutionText } from '../../shared/solution-text.ts'

const pattern = z.string().min(1).refine(isPattern, 'expected a regular expression')
const skill = z.union([
  pattern.transform((text) => ({ pattern: text, least: undefined })),
  z.strictObject({ pattern, least: z.int().positive().optional() }),
])

/** Archives are read in batches of this size. */
const batch = 200

/** Keeps a sample in which every listed skill occurs often enough, preferring tasks with the most missing skills. */
export default definePlugin({
  name: 'filters/tasks/skills',
  summary: 'Keep a seeded sample of tasks that covers a list of skills, each found by a pattern',
  options: z.strictObject({
    keep: z.int().positive().describe('Tasks of the sample.'),
    skills: z
      .record(z.string().min(1), skill)
      .refine((skills) => Object.keys(skills).length > 0, 'expected at least one skill')
      .describe('By name: a regular expression, or { pattern, least }.'),
    least: z.int().positive().default(10).describe('Tasks wanted of each skill that does not say.'),
    overshoot: z
      .number()
      .min(1)
      .default(2)
      .describe('A skill gets at most this many times what is wanted while there are other tasks.'),
    look: z.enum(['instruction', 'solution']).default('solution').describe('Where patterns are looked for.'),
  }),
  make: ({ keep, skills, least, overshoot, look }): WholeStage => {
    const wanted = Object.entries(skills).map(([name, one]) => ({
      ...{ name, least: one.least ?? least, pattern: new RegExp(one.pattern, 'm') },
    }))
    return {
      kind: 'mixer',
      takes: 'task',
      version: 1,
      expect: (taken: number | null) => ({ rows: taken === null ? keep : Math.min(keep, taken) }),
      choose: async ([input], { sql, seed, log, saveResult }) => {
        const tasks: { row: number; skills: number[] }[] = []
        for (let from = 0; from < (input?.rows ?? 0); from += batch) {
          const column = look === 'solution' ? 'archive' : 'instruction'
          const found = await sql.rows(
            `SELECT row, ${column} AS content FROM ${input?.view} ORDER BY row LIMIT ${batch} OFFSET ${from}`,
          )
          for (const { row, content } of found) {
            const text = content instanceof Uint8Array ? await solutionText(content) : String(content)
            tasks.push({
              row: Number(row),
              skills: wanted.flatMap(({ pattern }, i) => (pattern.test(text) ? [i] : [])),
            })
          }
        }
        const { chosen, counts } = coverSkills(makeRandom(seed, 'skills').shuffle(tasks), wanted, { keep, overshoot })
        const covered = wanted.map(({ name, least }, i) => ({ name, wanted: least, kept: counts[i] ?? 0 }))
        for (const { name, wanted, kept } of covered)
          if (kept < wanted) log(`skill ${name}: ${kept} tasks, ${wanted} wanted`)
        await saveResult?.({ skills: covered })
        const rows = new Set(chosen.map(({ row }) => row))
        return saveChoice(
          sql,
          tasks.map(({ row }) => ({ row, position: row, reason: rows.has(row) ? null : 'skills-covered' })),
        )
      },
    }
  },
})

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'm') !== null
  } catch {
    return false
  }
}
