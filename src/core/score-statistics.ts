import { z } from 'zod'

/** Statistics of the scores by which a stage chose rows, and its threshold. Kept with the rows of its step. */
export const scoreStatisticsSchema = z.object({
  /** The signal that holds the score. */
  signal: z.string(),
  /** Rows with a score, and without one. */
  count: z.number(),
  missing: z.number(),
  /** Null when no row has a score. */
  min: z.number().nullable(),
  median: z.number().nullable(),
  mean: z.number().nullable(),
  max: z.number().nullable(),
  /** Rows that were kept. */
  kept: z.number(),
  /** The score of the last row that was kept. */
  threshold: z.number().nullable(),
  /** True when the lowest scores are kept. */
  lowest: z.boolean(),
})
export type ScoreStatistics = Readonly<z.output<typeof scoreStatisticsSchema>>
