import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type RawRow, UserError, z } from 'ot-agent'

/** Official tests have the line endings of the judge's machine; the statement's examples do not. */
const lines = z.string().transform((text) => text.replaceAll('\r\n', '\n'))
const cases = z.array(z.object({ input: lines, output: lines }))
const problem = z.object({
  id: z.string(),
  title: z.string(),
  description: z.string(),
  input_format: z.string().nullish(),
  output_format: z.string().nullish(),
  interaction_format: z.string().nullish(),
  note: z.string().nullish(),
  examples: cases.nullish(),
  official_tests: cases.nullish(),
  editorial: z.string().nullish(),
  rating: z.coerce.number().nullish(),
  time_limit: z.coerce.number().nullish(),
  input_mode: z.string().nullish(),
  generated_checker: z.string().nullish(),
})
type Problem = z.infer<typeof problem>

export interface ShapeOptions {
  readonly language: 'python' | 'cpp'
  readonly maxRating: number
  /** Correct programs from other sources, by problem id. */
  readonly others: ReadonlyMap<string, string>
}

/** A problem in the form makers/io-tests takes, or with the reason it cannot be used. */
export function shape(row: RawRow, { language, maxRating, others }: ShapeOptions): RawRow {
  const parsed = problem.safeParse(row.fields)
  if (!parsed.success) return row
  const { data } = parsed
  const unfit = unfitness(data, maxRating)
  const id = data.id.replace(/[^\w.-]+/g, '-')
  if (unfit !== null) return { ...row, id, fields: { problem: unfit } }
  const program = others.get(data.id) ?? programIn(data.editorial ?? '', language)
  const fields = {
    statement: statementOf(data),
    examples: data.examples ?? [],
    tests: data.official_tests ?? [],
    solutions: program === null ? {} : { [language]: program },
    ...(data.generated_checker && { checker: data.generated_checker }),
    ...(data.time_limit && { timeSec: data.time_limit }),
  }
  return { ...row, id, fields }
}

function unfitness({ interaction_format, input_mode, rating }: Problem, maxRating: number): string | null {
  if (interaction_format) return 'it talks with its judge'
  if (input_mode && input_mode !== 'stdio') return 'it reads a file, not its standard input'
  return maxRating > 0 && (rating ?? 0) > maxRating ? `its rating is ${rating}` : null
}

function statementOf({ title, description, input_format, output_format, note, examples }: Problem): string {
  const shown = (examples ?? []).map(
    ({ input, output }) =>
      `Input:\n\n\`\`\`\n${input.trimEnd()}\n\`\`\`\n\nOutput:\n\n\`\`\`\n${output.trimEnd()}\n\`\`\``,
  )
  const parts = [
    ['', description],
    ['## Input\n\n', input_format],
    ['## Output\n\n', output_format],
    ['## Examples\n\n', shown.join('\n\n')],
    ['## Note\n\n', note],
  ]
  return [`# ${title}`, ...parts.flatMap(([heading, text]) => (text ? [`${heading}${text}`] : []))].join('\n\n')
}

/** The last fenced program in the language: editorials end with the complete one. */
function programIn(editorial: string, language: 'python' | 'cpp'): string | null {
  const fence = language === 'python' ? 'python3?|py' : 'c\\+\\+|cpp'
  const blocks = [...editorial.matchAll(new RegExp(`\`\`\`(?:${fence})\\s*\\n([\\s\\S]*?)\`\`\``, 'gi'))]
  return blocks.at(-1)?.[1] ?? null
}

const read = new Map<string, ReadonlyMap<string, string>>()

/** The programs in a file, which is read once. */
export function readSolutions(path: string, dir: string): ReadonlyMap<string, string> {
  if (path === '') return new Map()
  const known = read.get(path)
  if (known) return known
  const row = z.object({ id: z.string(), code: z.string() })
  const lines = linesOf(resolve(dir, path)).map((line, i) => {
    const parsed = row.safeParse(line)
    if (!parsed.success)
      throw new UserError(
        `${path}: expected id and code on line ${i + 1}, found something else`,
        'one JSON object a line',
      )
    return [parsed.data.id, parsed.data.code] as const
  })
  const found = new Map(lines)
  read.set(path, found)
  return found
}

function linesOf(path: string): unknown[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line))
  } catch (error) {
    throw new UserError(`--solutions ${path}: expected JSON lines, got ${String(error)}`, 'one JSON object a line')
  }
}
