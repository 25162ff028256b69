import { definePipeline, type RawRow, z } from 'ot-agent'

const tests = z.object({ input: z.array(z.string()), output: z.array(z.string()) })
const problem = z.object({
  name: z.string(),
  description: z.string(),
  public_tests: tests,
  private_tests: tests,
  generated_tests: tests,
  solutions: z.object({ language: z.array(z.number()), solution: z.array(z.string()) }),
  time_limit: z.object({ seconds: z.coerce.number() }).nullish(),
  input_file: z.string().nullish(),
})

/** How the dataset numbers languages. */
const numbers = { python: 3, cpp: 2 } as const

/** Programming contest problems with their tests, both those shown in the statement and the hidden ones. */
export default definePipeline({
  name: 'code-contests',
  summary: 'Problems of programming contests, tried on private tests, with a right solution as the oracle',
  options: z.strictObject({
    language: z.enum(['python', 'cpp']).default('python').describe('python or cpp'),
    maxTests: z.number().int().min(1).default(15).describe('hidden tests that are used'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'name' } },
    real: { use: 'sources/hub', with: { repo: 'deepmind/code_contests' } },
  },
  split: (row) => [shape(row)],
  make: { use: 'makers/io-tests', with: ({ options }) => ({ pipeline: 'code-contests', ...options }) },
})

function shape(row: RawRow): RawRow {
  const parsed = problem.safeParse(row.fields)
  if (!parsed.success) return row
  const { name, description, public_tests, private_tests, generated_tests, solutions, time_limit, input_file } =
    parsed.data
  if (input_file) return { ...row, fields: { problem: 'it reads a file, not its standard input' } }
  const right = (number: number) => solutions.solution[solutions.language.indexOf(number)]
  const found = Object.entries(numbers).flatMap(([language, number]) =>
    right(number) === undefined ? [] : [[language, right(number)]],
  )
  const fields = {
    statement: description,
    examples: pairs(public_tests),
    tests: [...pairs(private_tests), ...pairs(generated_tests)],
    solutions: Object.fromEntries(found),
    ...(time_limit && { timeSec: Math.max(1, time_limit.seconds) }),
  }
  return { ...row, id: name.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, ''), fields }
}

function pairs({ input, output }: z.infer<typeof tests>) {
  return input.map((text, i) => ({ input: text, output: output[i] ?? '' }))
}
