import { join } from 'node:path'
import { type Dropped, definePipeline, isDropped, type MakeAt, type NewDraft, type RawRow, z } from 'ot-agent'
import { byExample } from './by-example.ts'
import { byProgram } from './by-program.ts'
import { byRubric } from './by-rubric.ts'
import posts from './posts/index.ts'
import { answersDiffer } from './question.ts'
import { archiveOf, domainOf, fixtureSites } from './sites.ts'

/** The ways to make a task from a question, in the order they are tried. */
const methods = { example: byExample, program: byProgram, rubric: byRubric }
const kinds = {
  example: ['example'],
  program: ['program'],
  rubric: ['rubric'],
  checked: ['example', 'program'],
  all: ['example', 'program', 'rubric'],
} as const satisfies Readonly<Record<string, readonly (keyof typeof methods)[]>>

const options = z.strictObject({
  site: z
    .string()
    .regex(/^[a-z][a-z0-9.-]*$/, 'expected the name of a site such as unix')
    .default('unix')
    .describe(`the site, in the short form of its domain; questions come with ${fixtureSites.join(', ')}`),
  kind: z
    .enum(Object.keys(kinds) as [keyof typeof kinds])
    .default('checked')
    .describe('how tasks are made: example, program, rubric, checked (the first two) or all, in this order'),
  minScore: z.number().int().default(0).describe('questions with a lower score are skipped'),
  maxMb: z.number().min(0).default(0).describe('read only this many megabytes of the dump (0: all)'),
  minEndorsements: z
    .number()
    .int()
    .default(3)
    .describe(
      'rubric: answers with fewer votes are skipped; acceptance counts as one, or two where the asker shows what is wanted',
    ),
  passAt: z.number().min(0).max(1).default(0.75).describe('rubric: from this score on an answer counts as right'),
})
type Options = z.output<typeof options>

/** Stack Exchange questions with an answer that readers accepted or voted for. */
export default definePipeline({
  name: 'stackexchange',
  summary: 'Questions of a Stack Exchange site, checked by an example, by running the answer, or by a judge',
  options,
  source: {
    fixture: {
      use: posts,
      with: ({ options }) => ({ path: `fixtures/${options.site}.xml`, ...reading(options) }),
    },
    real: {
      use: posts,
      with: ({ options, inputDir }) => ({
        path: join(inputDir ?? process.cwd(), archiveOf(options.site)),
        ...reading(options),
      }),
    },
  },
  make: async (row, at) => {
    const tried: (readonly [string, Dropped])[] = []
    const { kind, site, passAt, minEndorsements } = at.options
    for (const method of kinds[kind]) {
      const isLast = method === kinds[kind].at(-1)
      const made = await methods[method](row, { ...at, isLast, passAt, minEndorsements, domain: domainOf(site) })
      if (!isDropped(made)) return named(made, row, method, at)
      if (made.drop === answersDiffer) return made
      tried.push([method, made])
    }
    const [, last = { drop: 'no-checkable-answer' }] = tried.at(-1) ?? []
    return { ...last, detail: tried.map(([method, { detail }]) => `by ${method}: ${detail}`).join('; '), id: row.id }
  },
})

function reading({ site, minScore, maxMb, kind }: Options) {
  return {
    source: site,
    minScore,
    answersWithoutCode: kind === 'rubric' || kind === 'all',
    ...(maxMb > 0 && { maxMb }),
  }
}

function named(made: NewDraft, { id }: RawRow, method: string, { options }: MakeAt<Options>): NewDraft {
  return {
    ...made,
    name: `${options.site}-${id}`,
    lineage: { ...made.lineage, pipeline: options.site, strategy: `by-${method}` },
  }
}
