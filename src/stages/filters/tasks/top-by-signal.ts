import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { ScoreStatistics } from '../../../core/score-statistics.ts'
import type { WholeStage } from '../../../core/stage.ts'
import type { SqlSession } from '../../../core/whole-set.ts'

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
    choose: async ([input], { sql, saveResult }) => {
      const value = `CAST(json_extract(signals, '$."${signal}"') AS DOUBLE)`
      await sql.run('DROP TABLE IF EXISTS verdicts')
      await sql.run(`
        CREATE TABLE verdicts AS
        SELECT 0 AS input, row, row AS position, NULL::VARCHAR AS detail, NULL::VARCHAR AS signals,
          CASE WHEN score IS NULL THEN 'no-${signal}' WHEN place > ${keep} THEN 'not-among-the-top' END AS reason, score
        FROM (SELECT row, score, row_number() OVER (ORDER BY score ${lowest ? 'ASC' : 'DESC'} NULLS LAST, row) AS place
              FROM (SELECT row, ${value} AS score FROM ${input?.view}))`)
      await saveResult?.({ scores: await statisticsOf(sql, signal, lowest) })
      return 'verdicts'
    },
  }),
})

async function statisticsOf(sql: SqlSession, signal: string, lowest: boolean): Promise<ScoreStatistics> {
  const kept = 'FILTER (WHERE reason IS NULL)'
  const [row = {}] = await sql.rows(
    `SELECT count(score) AS count, count(*) - count(score) AS missing, min(score) AS min, median(score) AS median,
      avg(score) AS mean, max(score) AS max, count(*) ${kept} AS kept, ${lowest ? 'max' : 'min'}(score) ${kept} AS threshold
     FROM verdicts`,
  )
  const number = (name: string) => (row[name] === null ? null : Number(row[name]))
  return {
    ...{ signal, count: Number(row.count), missing: Number(row.missing), kept: Number(row.kept), lowest },
    ...{ min: number('min'), median: number('median'), mean: number('mean'), max: number('max') },
    threshold: number('threshold'),
  }
}
