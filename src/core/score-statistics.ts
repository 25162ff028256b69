import { z } from 'zod'

/** Statistics of the scores that a stage chose rows by, and where it drew the line. Kept with the rows of its step. */
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
  /** Rows that stayed. */
  kept: z.number(),
  /** The score of the last row that stayed. */
  threshold: z.number().nullable(),
  /** True when the lowest scores stay. */
  lowest: z.boolean(),
})
export type ScoreStatistics = Readonly<z.output<typeof scoreStatisticsSchema>>
