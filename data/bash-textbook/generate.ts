import { definePipeline, type RawRow, z } from 'ot-agent'
import documents from './documents/index.ts'
import { readPage } from './read-page.ts'

/** Scripts of a textbook, to be written again from what the page says about them. */
export default definePipeline({
  name: 'bash-textbook',
  summary: 'Scripts that a page of a Bash book describes and runs, compared with the page’s own script',
  options: z.strictObject({
    maxPages: z.number().int().min(1).default(500).describe('later pages of a book are not read'),
    hiddenCases: z.number().int().min(1).max(50).default(5).describe('inputs beside the one on the page'),
  }),
  source: {
    fixture: {
      use: documents,
      with: ({ options: { maxPages } }) => ({ path: 'pages', source: 'bash-textbook', maxPages }),
    },
    real: {
      use: documents,
      with: ({ options: { maxPages }, inputDir }) => ({
        path: inputDir ?? process.cwd(),
        source: 'bash-textbook',
        maxPages,
      }),
    },
  },
  split: (row) => [shape(row)],
  make: {
    use: 'makers/expected-output',
    with: ({ options: { hiddenCases } }) => ({
      pipeline: 'bash-textbook',
      hiddenCases,
      instruction: 'This is a page of a book about Bash. Its script was lost.\n\n{{page}}',
    }),
  },
})

function shape(row: RawRow): RawRow {
  const found = readPage(String(row.fields.text))
  return { ...row, fields: typeof found === 'string' ? { ...row.fields, problem: found } : { ...row.fields, ...found } }
}
