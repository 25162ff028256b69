import type { WholeFilter } from '../../../core/stage.ts'
import type { ComparedRow } from './texts.ts'

/** What makes two rows the same, as SQL. */
const keys = {
  task: { instruction: "hash(regexp_replace(lower(instruction), '\\s+', ' ', 'g'))", content: 'digest' },
  trace: { conversation: 'hash(conversations)', instruction: 'prompt_digest' },
} as const

export type DuplicateKey<Of extends ComparedRow> = keyof (typeof keys)[Of]

/** Keeps the first of rows with the same key. */
export function exactDuplicates<Of extends ComparedRow>(of: Of, by: DuplicateKey<Of>): WholeFilter {
  const key = keys[of][by] as string
  return {
    kind: 'set-filter',
    takes: of,
    version: 1,
    findDrops: async ({ view }, { sql }) => {
      await sql.run(`CREATE OR REPLACE TEMP TABLE keys AS SELECT row, id, ${key} AS key FROM ${view}`)
      await sql.run(`
        CREATE OR REPLACE TABLE drops AS
        SELECT row, id, 'duplicate' AS reason, 'the same as ' || first_id AS detail
        FROM keys JOIN (SELECT key, min(row) AS first_row, arg_min(id, row) AS first_id FROM keys GROUP BY key HAVING count(*) > 1)
          USING (key)
        WHERE row > first_row`)
      await sql.run('DROP TABLE keys')
      return 'drops'
    },
  }
}
