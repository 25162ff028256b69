import {
  type Dropped,
  definePlugin,
  draftEach,
  type MapStage,
  makeRandom,
  type RawRow,
  rowDigest,
  type TaskDraft,
  z,
} from 'ot-agent'
import { checkQueryPy, renderQueryTest } from './check-query.ts'
import { inferSchema, renderDatabase, renderTable } from './infer-schema.ts'
import { tellResult } from './tell-result.ts'

const options = z.strictObject({
  hiddenDatabases: z.number().int().min(1).max(40).default(16).describe('Databases beside the one the agent gets.'),
  maxChars: z.number().int().min(1).default(20_000),
  pipeline: z.string().min(1).default('queries'),
})
type Options = z.output<typeof options>

const asked = z.object({ question: z.string().min(5), query: z.string().min(10) })

/** V2 for SQL: a query is correct if it returns what a known query returns, on generated databases. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'sql-query',
  summary: 'One task a row: a SQL query, compared with a known one on databases that are not shown',
  options,
  make: (given) => draftEach((row, seed) => makeDraft(row, given, seed)),
})

function makeDraft(row: RawRow, given: Options, seed: number): TaskDraft | Dropped {
  const { id } = row
  const parsed = asked.safeParse(row.fields)
  if (!parsed.success) return { drop: 'missing-field', detail: 'expected a question and a query', id }
  const { question, query } = parsed.data
  if (question.length > given.maxChars) return { drop: 'too-long', detail: `${question.length} characters`, id }
  const schema = inferSchema(query)
  if (typeof schema === 'string') return { drop: 'no-checkable-answer', detail: schema, id }
  if (countsGroups(question, query))
    return { drop: 'no-checkable-answer', detail: 'the question is how many groups, the query counts in each', id }
  if (countsUnasked(question, query))
    return { drop: 'no-checkable-answer', detail: 'the question asks for no number, and the query counts', id }
  const random = makeRandom(seed, id)
  const [shown = '', ...hidden] = Array.from({ length: given.hiddenDatabases + 1 }, () =>
    renderDatabase(schema, random),
  )
  const files = hidden.map((text, i) => [`tests/databases/${i + 1}.sql`, { data: text }] as const)
  const { pipeline } = given
  return {
    name: `${pipeline}-${id}`,
    instruction: `${question.trim()}\n\nThe tables are:\n\n\`\`\`sql\n${schema.map(renderTable).join('\n')}\n\`\`\`\n\n\`/app/data.sql\` makes a small database with them, to try things out; \`python3\` has the module \`sqlite3\`. Write one SELECT for SQLite to \`/app/query.sql\`.${tellResult(query)} It is run on other databases with the same tables.\n`,
    files: {
      'environment/Dockerfile': { data: 'FROM python:3.12-slim\n\nWORKDIR /app\nCOPY data.sql /app/data.sql\n' },
      'environment/data.sql': { data: shown },
      'tests/test.sh': { data: renderQueryTest() },
      'tests/check_query.py': { data: checkQueryPy },
      'tests/reference.sql': { data: `${query.trim()}\n` },
      ...Object.fromEntries(files),
      ...(leavesRepeatsOpen(question, query) && { 'tests/any-number-of-times': { data: 'rows\n' } }),
      'solution/query.sql': { data: `${query.trim()}\n` },
      'solution/solve.sh': { data: '#!/bin/sh\ncp "$(dirname "$0")/query.sql" /app/query.sql\n' },
    },
    lineage: { pipeline, strategy: 'sql-query', rowId: id, rowDigest: rowDigest(row), seed },
  }
}

/**
 * "How many countries have more than two makers?" asks for one number, and `count(*) ... GROUP BY` returns one per
 * country.
 */
function countsGroups(question: string, query: string): boolean {
  return (
    /^\s*(?:how many|(?:what is|find|give|show|count|return) (?:me )?the (?:total )?number of)\b/i.test(question) &&
    !/\b(?:each|every|per|by|for all|different)\b/i.test(question) &&
    /^\s*select\s+count\s*\([^)]*\)\s+from\b[^()]*\bgroup\s+by\b/i.test(query)
  )
}

/** "What are the different addresses?" asks for addresses, and `count(DISTINCT address)` returns a number. */
function countsUnasked(question: string, query: string): boolean {
  return (
    /^\s*select\s+count\s*\([^)]*\)\s+from\b/i.test(query) &&
    !/\b(?:how (?:many|much|often)|numbers?|counts?|total|amount)\b/i.test(question)
  )
}

/** Only one of the two says that duplicates are removed. */
function leavesRepeatsOpen(question: string, query: string): boolean {
  return (
    /\bselect\s+distinct\b/i.test(query) !==
    /\b(?:different|distinct|unique|distinctive|without (?:repe|dup)\w*)\b/i.test(question)
  )
}
