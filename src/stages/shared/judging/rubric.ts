import { z } from 'zod'

/** tests/judge.json: what a judge looks for. */
export const rubricSchema = z.strictObject({
  schema: z.literal('judge/1'),
  criteria: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(100),
        text: z.string().min(1).max(4000).describe('What has to be true of the result.'),
        weight: z.number().positive().default(1),
      }),
    )
    .min(1)
    .max(30)
    // A judge scores criteria by their names.
    .refine((criteria) => new Set(criteria.map(({ name }) => name)).size === criteria.length, {
      message: 'expected criteria with different names',
    }),
  reference: z.string().max(50_000).optional().describe('A result that is known to be good; others may be as good.'),
  passAt: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('The reward is 1 from this score on and 0 below; without it the reward is the score.'),
})
export type Rubric = z.output<typeof rubricSchema>
/** The same as written to the file: fields with a default may be omitted. */
export type RubricFile = z.input<typeof rubricSchema>
