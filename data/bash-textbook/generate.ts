import { definePipeline, type PipelineAt, type RawRow, z } from 'ot-agent'
import documents from './documents/index.ts'
import { readPage } from './read-page.ts'
import { filesOf, readCommands, sessionsOf } from './read-sessions.ts'

/** Scripts and commands from a textbook, to be rewritten from what the page says about them. */
export default definePipeline({
  name: 'bash-textbook',
  summary: 'Scripts and commands that a page of a Bash book describes and runs, compared with the page’s own',
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
  split: shape,
  make: {
    use: 'makers/expected-output',
    with: ({ options: { hiddenCases } }) => ({
      pipeline: 'bash-textbook',
      hiddenCases,
      // Pages show tabs as spaces, so a reader cannot tell which were tabs.
      normalise: ['tabs'],
      instruction: '{{lead}}\n\n{{page}}',
    }),
  },
})

/** Files that a book's pages show and later pages work on. Rows arrive in page order. */
const shown = new WeakMap<PipelineAt<unknown>, Map<string, Record<string, string>>>()

function shape(row: RawRow, at: PipelineAt<unknown>): RawRow[] {
  const text = String(row.fields.text)
  const found = readPage(text)
  if (typeof found !== 'string') {
    const lead = 'This is a page of a book about Bash. Its script was lost.'
    return [{ ...row, fields: { ...row.fields, ...found, lead } }]
  }
  const known = filesOfBook(row, text, at)
  const lead = 'This is a page of a book about the shell. One of its commands was lost, as the page says.'
  const commands = readCommands(text, known).map((command, i) => ({
    ...row,
    id: `${row.id}-c${i + 1}`,
    fields: { ...row.fields, ...command, lead },
  }))
  const problem = `${found}, and no command whose input and output it shows`
  return commands.length > 0 ? commands : [{ ...row, fields: { ...row.fields, problem } }]
}

function filesOfBook({ fields }: RawRow, text: string, at: PipelineAt<unknown>): Record<string, string> {
  const books = shown.get(at) ?? new Map<string, Record<string, string>>()
  shown.set(at, books)
  const known = { ...books.get(String(fields.document)), ...filesOf(sessionsOf(text)) }
  books.set(String(fields.document), known)
  return known
}
