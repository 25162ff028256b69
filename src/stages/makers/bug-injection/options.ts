import { z } from 'zod'
import type { RawRow } from '../../../core/row.ts'
import { type TestFormat, testFormats } from '../../shared/repositories/test-run.ts'
import { revertedFix } from './history.ts'
import { mutators } from './mutate.ts'

const names = [...mutators.map(({ name }) => name), revertedFix]

/** Options of the maker; a row's own settings for its repository take precedence. */
export const options = z.strictObject({
  root: z.string().min(1).default('.').describe('Folder that relative repositories of rows count from.'),
  strategy: z
    .enum(['procedural', 'model'])
    .default('procedural')
    .describe('`procedural`: mutators on the syntax tree. `model`: a model rewrites a function.'),
  mutators: z
    .array(z.string().refine((name) => names.includes(name), { error: `expected one of ${names.join(', ')}` }))
    .min(1)
    .default(names)
    .describe('Which mutators are used (default: all).'),
  bugs: z.number().int().min(1).max(10).default(1).describe('Bugs in one task, each in another function.'),
  tasks: z.number().int().min(1).default(1).describe('Tasks of one row.'),
  attempts: z.number().int().min(1).default(40).describe('Mutants that are tried for one row.'),
  tests: z
    .enum(['visible', 'hidden'])
    .default('visible')
    .describe(
      "`hidden`: the agent does not see the repository's tests. They decide from a copy of their own either way.",
    ),
  issue: z.enum(['template', 'model']).default('template').describe('Who writes the issue.'),
  maxBroken: z
    .number()
    .positive()
    .max(1)
    .default(0.8)
    .describe('A bug that breaks more than this share of the tests is too plain.'),
  workdir: z
    .string()
    .regex(/^\/[\w./-]+$/)
    .default('/app')
    .describe('Where the repository lies in the environment.'),
  timeoutSec: z.number().positive().default(300).describe('Time limit of one run of the tests.'),
  concurrency: z.number().int().min(1).default(2).describe('Runs of tests at once.'),
  pipeline: z.string().min(1).default('bugs'),
})
export type Options = z.output<typeof options>

const words = z.union([
  z
    .string()
    .min(1)
    .transform((word) => [word]),
  z.array(z.string().min(1)).min(1),
])

const fields = z.object({
  /** `./folder`, `./archive.tar.gz`, `git+URL#REF` or `npm:NAME@VERSION`. */
  repo: z.string().min(1),
  test_command: words,
  test_format: z.enum(testFormats),
  /** Base image (default: chosen by the language of most files). */
  image: z.string().min(1).optional(),
  /** Earlier versions of it, in the same form: their differences from this one are tried as bugs. */
  older: words.optional(),
  /** Commands that run before the repository is copied, so that many environments share what they install. */
  base_setup: words.optional(),
  /** Commands that make the tests runnable, run while the environment is built. */
  setup: words.optional(),
  /** Uses only one of every `slices` mutants, the one at this index: lets many rows share one repository. */
  slice: z.number().int().min(0).default(0),
  slices: z.number().int().min(1).default(1),
})

/** A repository as a row describes it. */
export interface RepositoryRow {
  readonly repo: string
  readonly commands: readonly string[]
  readonly format: TestFormat
  readonly image: string | null
  readonly older: readonly string[]
  readonly base: readonly string[]
  readonly setup: readonly string[]
  readonly slice: number
  readonly slices: number
}

/** Reads a row; a text says what is wrong with it. */
export function parseRow({ fields: given }: RawRow): RepositoryRow | string {
  const parsed = fields.safeParse(given)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return `${issue?.path.join('.')}: ${issue?.message}`
  }
  const { repo, test_command, test_format, image = null, slice, slices } = parsed.data
  const { older = [], base_setup: base = [], setup = [] } = parsed.data
  return { repo, commands: test_command, format: test_format, image, older, base, setup, slice, slices }
}
