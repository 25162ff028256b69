import { definePipeline, type RawRow, z } from 'ot-agent'
import sqlQuery from './sql-query/index.ts'

const subsets = ['man_python', 'man_sql', 'sca_python', 'sca_sql', 'mca_python', 'mca_sql'] as const
const pair = z.object({
  question: z.string(),
  snippet: z.union([z.string().transform((text) => [text]), z.array(z.string())]),
})

/** Stack Overflow questions with the code that answers them, from a published dataset. */
export default definePipeline({
  name: 'staqc',
  summary: 'Questions with a query or a program as their answer, checked by running both',
  options: z.strictObject({
    subset: z
      .enum(subsets)
      .default('man_sql')
      .describe(`one of ${subsets.join(', ')}`),
  }),
  source: {
    fixture: {
      use: 'sources/file',
      with: ({ options: { subset } }) => ({ path: `fixtures/${languageOf(subset)}.jsonl`, id: 'id', source: subset }),
    },
    real: {
      use: 'sources/hub',
      with: ({ options: { subset } }) => ({ repo: 'koutch/staqc', config: subset, id: 'id', source: subset }),
    },
  },
  split: (row) => [shape(row)],
  make: {
    use: ({ options: { subset } }) => (languageOf(subset) === 'sql' ? sqlQuery : 'makers/row-template'),
    with: ({ options: { subset } }) => ({
      pipeline: subset.replace('_', '-'),
      ...(languageOf(subset) === 'python' && { instruction: '{{question}}', code: { field: 'program' } }),
    }),
  },
})

function languageOf(subset: string): 'python' | 'sql' {
  return subset.endsWith('sql') ? 'sql' : 'python'
}

function shape(row: RawRow): RawRow {
  const parsed = pair.safeParse(row.fields)
  if (!parsed.success) return row
  const { question, snippet } = parsed.data
  return { ...row, fields: { question, query: snippet.at(-1) ?? '', program: snippet.join('\n\n') } }
}
