import type { WholeStage } from '../../core/stage.ts'
import type { Judged } from './texts.ts'

/** What makes two rows the same, as SQL. */
const keys = {
  task: { instruction: "regexp_replace(lower(instruction), '\\s+', ' ', 'g')", content: 'digest' },
  trace: { conversation: 'hash(conversations)', instruction: 'prompt_digest' },
} as const

export type DuplicateKey<Of extends Judged> = keyof (typeof keys)[Of]

/** Keeps the first of rows with the same key. */
export function exactDuplicates<Of extends Judged>(of: Of, by: DuplicateKey<Of>): WholeStage {
  const key = keys[of][by] as string
  return {
    takes: of,
    filter: true,
    version: 1,
    choose: async ([input], { sql }) => {
      await sql.run('DROP TABLE IF EXISTS verdicts')
      await sql.run(`
        CREATE TABLE verdicts AS
        SELECT 0 AS input, row, row AS position, CASE WHEN row > first_row THEN 'duplicate' END AS reason,
          CASE WHEN row > first_row THEN 'the same as ' || first_id END AS detail, NULL::VARCHAR AS signals
        FROM (SELECT row, min(row) OVER same AS first_row, arg_min(id, row) OVER same AS first_id
              FROM (SELECT row, id, ${key} AS duplicate_key FROM ${input?.view}) WINDOW same AS (PARTITION BY duplicate_key))`)
      return 'verdicts'
    },
  }
}
