import { definePlugin, type RecipeTrace, type RowFilter, z } from 'ot-agent'

/** Keeps only long traces, for a study of the effect of length. */
export default definePlugin({
  name: 'long',
  summary: 'Drops traces with few characters',
  options: z.strictObject({
    least: z.int().positive().describe('The fewest characters of a conversation that is kept'),
  }),
  make: ({ least }): RowFilter<RecipeTrace> => ({
    kind: 'filter',
    takes: 'trace',
    keep: ({ conversations }) =>
      conversations.reduce((sum, { content }) => sum + content.length, 0) >= least || 'too-short',
  }),
})
