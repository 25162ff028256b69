import { join } from 'node:path'
import { definePipeline, z } from 'ot-agent'
import posts from './posts/index.ts'
import { shapeExample, shapeFunctions } from './shape.ts'
import { sites } from './sites.ts'

/** Questions of Stack Exchange whose answers are commands or code that can be run and compared. */
export default definePipeline({
  name: 'stackexchange',
  summary: 'Questions of a Stack Exchange site, checked by running the answer that counts',
  options: z.strictObject({
    site: z
      .enum(sites)
      .default('unix')
      .describe(`one of ${sites.join(', ')}`),
    kind: z
      .enum(['examples', 'functions'])
      .default('examples')
      .describe('examples of input and output, or functions in Python'),
    minScore: z.number().int().default(0).describe('questions with a lower score are left out'),
    maxMb: z.number().min(0).default(0).describe('read only this many megabytes of the dump (0: all)'),
  }),
  source: {
    fixture: {
      use: posts,
      with: ({ options }) => ({ path: `fixtures/${options.site}.xml`, ...read(options) }),
    },
    real: {
      use: posts,
      with: ({ options, inputDir }) => ({
        path: join(inputDir ?? process.cwd(), archives[options.site]),
        ...read(options),
      }),
    },
  },
  split: (row, { options }) => [options.kind === 'examples' ? shapeExample(row) : shapeFunctions(row)],
  make: {
    use: ({ options }) => (options.kind === 'examples' ? 'makers/expected-output' : 'makers/row-template'),
    with: ({ options: { site, kind } }) => ({
      pipeline: site,
      instruction: '# {{title}}\n\n{{body}}',
      ...(kind === 'functions' && { code: { field: 'program' } }),
    }),
  },
})

/** What the archives of the dump are called. */
const archives = {
  codereview: 'codereview.stackexchange.com.7z',
  overflow: 'stackoverflow.com-Posts.7z',
  superuser: 'superuser.com.7z',
  tezos: 'tezos.stackexchange.com.7z',
  tor: 'tor.stackexchange.com.7z',
  unix: 'unix.stackexchange.com.7z',
} as const

function read({ site, minScore, maxMb }: { site: string; minScore: number; maxMb: number }) {
  return { source: site, minScore, ...(maxMb > 0 && { maxMb }) }
}
