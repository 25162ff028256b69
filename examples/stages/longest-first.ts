// A mixer: it sees all rows of every branch above it, and names a table with the position of each row in the output.
import { definePlugin, type WholeStage, z } from 'ot-agent'

export default definePlugin({
  name: 'longest-first',
  summary: 'Joins branches, the rows with most words first',
  options: z.strictObject({ total: z.int().positive().describe('How many rows are kept') }),
  make: ({ total }): WholeStage => ({
    kind: 'mixer',
    takes: 'raw',
    many: true,
    async choose(inputs, { sql }) {
      const rows = inputs.map(({ view }, i) => `SELECT ${i} AS input, row, fields->>'words' AS words FROM ${view}`)
      await sql.run(`CREATE OR REPLACE TEMP TABLE ordered AS
        SELECT input::INTEGER AS input, row, NULL::VARCHAR AS detail, NULL::VARCHAR AS signals,
          row_number() OVER (ORDER BY words::INTEGER DESC, input, row) AS position,
          CASE WHEN row_number() OVER (ORDER BY words::INTEGER DESC, input, row) > ${total} THEN 'too-many' END AS reason
        FROM (${rows.join(' UNION ALL ')})`)
      return 'ordered'
    },
  }),
})
