// A filter in SQL: null keeps a row, a text is the reason it is dropped. Neighbouring ones run in one scan of the file.
import { definePlugin, type SqlFilter, z } from 'ot-agent'

export default definePlugin({
  name: 'no-questions',
  summary: 'Drops rows that ask something',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'raw',
    reason: "CASE WHEN fields->>'text' LIKE '%?' THEN 'question' END",
  }),
})
