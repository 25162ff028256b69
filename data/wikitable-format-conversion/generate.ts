import { type Dropped, definePipeline, type NewDraft, type Random, z } from 'ot-agent'
import { checkPy, testScript } from './check.ts'
import { type FormatName, formatNames, formats } from './formats.ts'
import { checkAnswerPy, questionTest } from './question-check.ts'
import { isPartOfCells, supported } from './support.ts'

const row = z.object({
  question: z.string().optional(),
  answers: z.array(z.string()).optional(),
  table: z.object({ header: z.array(z.string()), rows: z.array(z.array(z.string())), name: z.string() }),
})
const plain = (cell: string) => cell.replace(/\s+/g, ' ').trim()

/** Wikipedia tables: to be converted to another format, which the check reads back, or to answer a question about. */
export default definePipeline({
  name: 'wikitable-format-conversion',
  summary: 'Tables of Wikipedia, converted between CSV, TSV, JSON, Markdown and HTML, and questions about them',
  options: z.strictObject({
    ask: z
      .enum(['both', 'convert', 'question'])
      .default('both')
      .describe('both, convert (one task a table) or question (one task a row)'),
    from: z
      .enum(['any', ...formatNames])
      .default('any')
      .describe(`any, or one of ${formatNames.join(', ')}`),
    to: z
      .enum(['any', ...formatNames])
      .default('any')
      .describe('likewise'),
    maxRows: z.number().int().min(1).default(200).describe('longer tables are skipped'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: { use: 'sources/hub', with: { repo: 'stanfordnlp/wikitablequestions', id: 'id' } },
  },
  strategy: 'format-conversion',
  make: ({ fields, id }, { options, random }) => {
    const parsed = row.safeParse(fields)
    if (!parsed.success) return { drop: 'missing-field', detail: 'expected a table with header, rows and name', id }
    const { question, answers, table } = parsed.data
    const header = table.header.map(plain)
    const rows = table.rows.map((cells) => header.map((_, i) => plain(cells[i] ?? '')))
    if (header.length < 2 || new Set(header).size < header.length || header.includes(''))
      return { drop: 'odd-table', detail: 'its columns need names, each its own', id }
    if (rows.length < 2 || rows.length > options.maxRows) return { drop: 'odd-size', detail: `${rows.length} rows`, id }
    return [
      ...(options.ask === 'question' ? [] : [conversion(table.name, { header, rows }, options, random)]),
      ...(options.ask === 'convert' ? [] : [asking(id, { header, rows }, question, answers)]),
    ]
  },
})

interface Table {
  readonly header: string[]
  readonly rows: string[][]
}

interface Formats {
  readonly from: FormatName | 'any'
  readonly to: FormatName | 'any'
}

function conversion(name: string, table: Table, asked: Formats, random: Random): NewDraft {
  const from = asked.from === 'any' ? random.pick(formatNames) : asked.from
  const others = formatNames.filter((name) => name !== from)
  const to = asked.to === 'any' ? random.pick(others) : asked.to
  const [given, wanted] = [formats[from], formats[to]]
  const [input, output] = [`table.${given.ending}`, `converted.${wanted.ending}`]
  return {
    name: `wikitable-${name.replace(/[^\w]+/g, '-').replace(/^-+|-+$/g, '')}`,
    instruction: `The file \`/app/${input}\` holds a table as ${given.words}. Convert it and write it to \`/app/${output}\` as ${wanted.words}. Keep every column, row and cell in its order; cells are text and stay as they are.\n`,
    files: {
      ...environment(input, given.render(table)),
      'tests/test.sh': { data: testScript(to, `/app/${output}`) },
      'tests/check.py': { data: checkPy },
      'tests/table.json': { data: `${JSON.stringify(table, null, 1)}\n` },
      [`solution/${output}`]: { data: wanted.render(table) },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/${output}" /app/${output}\n` },
    },
  }
}

/** A question about the table, with an answer from human annotators. */
function asking(id: string, table: Table, question = '', answers: readonly string[] = []): NewDraft | Dropped {
  const given = answers.map(plain).filter((answer) => answer !== '')
  if (question.trim() === '' || given.length === 0)
    return { drop: 'no-question', detail: 'expected a question and its answers', id }
  // "Which lake is the largest, and its location" has two answers.
  if (given.length === 1 && /\band (?:its?|their|his|her)\b/i.test(question))
    return { drop: 'odd-answer', detail: 'expected two values, found one', id }
  if (asksForAny.test(question))
    return { drop: 'several-answers', detail: 'expected a question with one answer: it asks for any of them', id }
  const named = plain(question).toLowerCase()
  if (given.every((answer) => /^(?:yes|no|true|false)$/i.test(answer) || named.includes(answer.toLowerCase())))
    return { drop: 'guessable', detail: `the answer is ${given[0]}, one of few`, id }
  if (countsToToday.test(question))
    return { drop: 'depends-on-today', detail: 'expected an answer that does not change: it counts up to today', id }
  const wanted = given.map((answer) => supported(answer, table)).filter((answer) => answer !== null)
  if (wanted.length < given.length)
    return { drop: 'unsupported-answer', detail: 'expected an answer that a cell or a calculation gives', id }
  if (wanted.some((answer) => isPartOfCells(answer, table)))
    return { drop: 'part-of-a-cell', detail: 'expected names as they stand in the table', id }
  if (wanted.some((answer) => answer.length > 200 || answer.includes('\n')))
    return { drop: 'odd-answer', detail: 'expected short values', id }
  return {
    name: `wikitable-question-${id.replace(/[^\w]+/g, '-')}`,
    instruction: `The file \`/app/table.csv\` holds a table of Wikipedia as ${formats.csv.words}. Answer this question about it:

> ${plain(question)}

Write the answer to \`/app/answer.txt\`: each value on a line of its own, in any order, and nothing else. Write names as they stand in the table, and numbers in digits, without a unit unless the question asks for one.
`,
    files: {
      ...environment('table.csv', formats.csv.render(table)),
      'tests/test.sh': { data: questionTest },
      'tests/check_answer.py': { data: checkAnswerPy },
      'tests/answers.json': { data: `${JSON.stringify(wanted)}\n` },
      'solution/answer.txt': { data: `${wanted.join('\n')}\n` },
      'solution/solve.sh': { data: '#!/bin/sh\ncp "$(dirname "$0")/answer.txt" /app/answer.txt\n' },
    },
    lineage: { strategy: 'table-question' },
  }
}

/** "How long has the church been in use?": the answer depends on the day it was given. */
const countsToToday = /\bhow (?:long|many years) (?:has|have)\b.*\b(?:been|since)\b/i

/** "Name a player with fewer than 13 innings": the table has several, and the answer is only one of them. */
const asksForAny =
  /\b(?:name|list|give|identify|tell|provide|state|mention) (?:me )?(?:one|a|an|any|another|some\w*|two|three|four|at least)\b|\b(?:what|who|which) (?:is|was|are|were) (?:one|two|three) (?!of two\b)|\bsame\b[^?]*\bas\W*$/i

function environment(name: string, text: string): NewDraft['files'] {
  return {
    'environment/Dockerfile': { data: `FROM python:3.12-slim\n\nWORKDIR /app\nCOPY ${name} /app/${name}\n` },
    [`environment/${name}`]: { data: text },
  }
}
