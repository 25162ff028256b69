// A filter in SQL: null keeps a row; a string drops it and is the reason. Neighboring SQL filters share one scan of the rows.
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
