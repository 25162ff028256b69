// A filter that sees all rows before it decides: it names a table of the rows to drop.
import { definePlugin, type WholeFilter, z } from 'ot-agent'

export default definePlugin({
  name: 'one-each',
  summary: 'Keeps the first row that begins with each letter',
  options: z.strictObject({}),
  make: (): WholeFilter => ({
    kind: 'set-filter',
    takes: 'raw',
    async findDrops({ view }, { sql }) {
      await sql.run(`CREATE OR REPLACE TEMP TABLE repeated AS
        SELECT row, id, 'same-letter' AS reason, NULL AS detail FROM ${view}
        QUALIFY row_number() OVER (PARTITION BY upper(left(fields->>'text', 1)) ORDER BY row) > 1`)
      return 'repeated'
    },
  }),
})
