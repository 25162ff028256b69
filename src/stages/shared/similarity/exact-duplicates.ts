import type { OrderedFilter, WholeFilter } from '../../../core/stage.ts'
import { FirstKeys } from '../../../lib/first-keys.ts'
import type { ComparedRow } from './texts.ts'

/** What makes two rows the same, as SQL: a column, or 64 bits of a hash of their text. */
const keys = {
  task: {
    instruction: { hash: "regexp_replace(lower(instruction), '\\s+', ' ', 'g')" },
    content: { column: 'digest' },
  },
  trace: { conversation: { hash: 'conversations' }, instruction: { column: 'prompt_digest' } },
} as const

export type DuplicateKey<Of extends ComparedRow> = keyof (typeof keys)[Of]
type Key = { readonly hash: string } | { readonly column: string }

/** Keeps the first of rows with the same key. */
export function exactDuplicates<Of extends ComparedRow>(of: Of, by: DuplicateKey<Of>): OrderedFilter | WholeFilter {
  const key = keys[of][by] as Key
  return 'hash' in key ? sameHash(of, key.hash) : sameColumn(of, key.column)
}

/** Texts are read once, together with other filters that read them. */
function sameHash(of: ComparedRow, said: string): OrderedFilter {
  return {
    kind: 'ordered-filter',
    takes: of,
    version: 1,
    looksAt: `hash(${said})::BIT::BLOB`,
    begin: () => {
      const first = new FirstKeys()
      return {
        decide({ row, bytes }) {
          const hash = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
          const twin = first.findOrAdd(hash.getUint32(4), hash.getUint32(0), row)
          return twin === null ? null : { reason: 'duplicate', detail: 'the same as ', twin }
        },
      }
    },
  }
}

/** The database compares a column and reads nothing else. */
function sameColumn(of: ComparedRow, column: string): WholeFilter {
  return {
    kind: 'set-filter',
    takes: of,
    version: 1,
    findDrops: async ({ view }, { sql }) => {
      await sql.run(`CREATE OR REPLACE TEMP TABLE keys AS SELECT row, id, ${column} AS key FROM ${view}`)
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
