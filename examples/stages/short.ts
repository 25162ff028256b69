// A filter: `true` keeps a row; a string drops it and is the reason.
import { definePlugin, type RawRow, type RowFilter, z } from 'ot-agent'

export default definePlugin({
  name: 'short',
  summary: 'Drops rows with many words',
  options: z.strictObject({ most: z.int().positive().default(12).describe('The most words that are kept') }),
  make: ({ most }): RowFilter<RawRow> => ({
    kind: 'filter',
    takes: 'raw',
    keep: ({ fields }) => Number(fields.words) <= most || 'too-long',
  }),
})
