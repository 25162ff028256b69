import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { WholeStage } from '../../../core/stage.ts'

/** Keeps the rows with the highest or lowest signal, as a hard filter. */
export default definePlugin({
  name: 'filters/tasks/top-by-signal',
  summary: 'Keep the tasks whose signal is highest, or lowest',
  options: z.strictObject({
    signal: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i, 'expected letters, digits, dots and dashes'),
    keep: z.int().positive(),
    lowest: z.boolean().default(false),
  }),
  make: ({ signal, keep, lowest }): WholeStage => ({
    kind: 'mixer',
    takes: 'task',
    version: 1,
    expect: (taken: number | null) => ({ rows: taken === null ? keep : Math.min(keep, taken) }),
    choose: async ([input], { sql }) => {
      const value = `CAST(json_extract(signals, '$."${signal}"') AS DOUBLE)`
      await sql.run('DROP TABLE IF EXISTS verdicts')
      await sql.run(`
        CREATE TABLE verdicts AS
        SELECT 0 AS input, row, row AS position, NULL::VARCHAR AS detail, NULL::VARCHAR AS signals,
          CASE WHEN score IS NULL THEN 'no-${signal}' WHEN place > ${keep} THEN 'not-among-the-top' END AS reason
        FROM (SELECT row, score, row_number() OVER (ORDER BY score ${lowest ? 'ASC' : 'DESC'} NULLS LAST, row) AS place
              FROM (SELECT row, ${value} AS score FROM ${input?.view}))`)
      return 'verdicts'
    },
  }),
})
