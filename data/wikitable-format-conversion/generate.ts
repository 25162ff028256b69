import { definePipeline, z } from 'ot-agent'
import { checkPy, testScript } from './check.ts'
import { type FormatName, formatNames, formats } from './formats.ts'

const row = z.object({
  table: z.object({ header: z.array(z.string()), rows: z.array(z.array(z.string())), name: z.string() }),
})
const plain = (cell: string) => cell.replace(/\s+/g, ' ').trim()

/** A table in one format, to be written in another; the check reads it back. */
export default definePipeline({
  name: 'wikitable-format-conversion',
  summary: 'Tables of Wikipedia, converted between CSV, TSV, JSON, Markdown and HTML',
  options: z.strictObject({
    from: z
      .enum(['any', ...formatNames])
      .default('any')
      .describe(`any, or one of ${formatNames.join(', ')}`),
    to: z
      .enum(['any', ...formatNames])
      .default('any')
      .describe('likewise'),
    maxRows: z.number().int().min(1).default(200).describe('longer tables are left out'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: { use: 'sources/hub', with: { repo: 'stanfordnlp/wikitablequestions', id: 'id' } },
  },
  strategy: 'format-conversion',
  make: ({ fields, id }, { options, random }) => {
    const parsed = row.safeParse(fields)
    if (!parsed.success) return { drop: 'missing-field', detail: 'expected a table with header, rows and name', id }
    const header = parsed.data.table.header.map(plain)
    const rows = parsed.data.table.rows.map((cells) => header.map((_, i) => plain(cells[i] ?? '')))
    if (header.length < 2 || new Set(header).size < header.length || header.includes(''))
      return { drop: 'odd-table', detail: 'its columns need names, each its own', id }
    if (rows.length < 2 || rows.length > options.maxRows) return { drop: 'odd-size', detail: `${rows.length} rows`, id }
    const from: FormatName = options.from === 'any' ? random.pick(formatNames) : options.from
    const others = formatNames.filter((name) => name !== from)
    const to: FormatName = options.to === 'any' ? random.pick(others) : options.to
    const [given, wanted] = [formats[from], formats[to]]
    const [input, output] = [`table.${given.ending}`, `converted.${wanted.ending}`]
    return {
      name: `wikitable-${parsed.data.table.name.replace(/[^\w]+/g, '-').replace(/^-+|-+$/g, '')}`,
      instruction: `The file \`/app/${input}\` holds a table as ${given.words}. Convert it and write it to \`/app/${output}\` as ${wanted.words}. Keep every column, row and cell in its order; cells are text and stay as they are.\n`,
      files: {
        'environment/Dockerfile': { data: `FROM python:3.12-slim\n\nWORKDIR /app\nCOPY ${input} /app/${input}\n` },
        [`environment/${input}`]: { data: given.render({ header, rows }) },
        'tests/test.sh': { data: testScript(to, `/app/${output}`) },
        'tests/check.py': { data: checkPy },
        'tests/table.json': { data: `${JSON.stringify({ header, rows }, null, 1)}\n` },
        [`solution/${output}`]: { data: wanted.render({ header, rows }) },
        'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/${output}" /app/${output}\n` },
      },
    }
  },
})
