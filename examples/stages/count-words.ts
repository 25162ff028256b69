// A map: rows in, rows out. It may give none, one or several rows for each row it takes.
import { definePlugin, type MapStage, type RawRow, z } from 'ot-agent'

export default definePlugin({
  name: 'count-words',
  summary: 'Adds the number of words to each row',
  options: z.strictObject({}),
  make: (): MapStage<RawRow, RawRow> => ({
    kind: 'map',
    takes: 'raw',
    gives: 'raw',
    async *run(rows) {
      for await (const row of rows) {
        const words = String(row.fields.text).split(/\s+/).filter(Boolean).length
        yield words === 0 ? { drop: 'empty', id: row.id } : { ...row, fields: { ...row.fields, words } }
      }
    },
  }),
})
