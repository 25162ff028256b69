import { definePipeline, z } from 'ot-agent'

/** Bugs put into repositories; the agent reads an issue about what goes wrong and sees none of the tests that decide. */
export default definePipeline({
  name: 'issue-tasks',
  summary: 'Issues about bugs that were put into repositories, decided by the repositories’ own tests',
  options: z.strictObject({
    bugsPerRepository: z.number().int().min(1).default(8).describe('rows, and so tasks at most, of one repository'),
    bugsPerTask: z.number().int().min(1).max(10).default(1).describe('bugs in one task, each in another function'),
    attempts: z.number().int().min(1).default(20).describe('mutants that are tried for one task'),
    bugs: z.enum(['procedural', 'model']).default('procedural').describe('who writes the bugs; a model needs --model'),
    issues: z.enum(['template', 'model']).default('template').describe('who writes the issues'),
    showTests: z.boolean().default(false).describe('leave the tests where the agent can run them'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'name' } },
    // To use your own repositories, name them in a file like the fixture: --source FILE.
    real: null,
  },
  needsModel: ({ bugs, issues }) => bugs === 'model' || issues === 'model',
  // Many rows share one repository, so that a run that is stopped goes on bug by bug.
  split: (row, { options: { bugsPerRepository: slices } }) =>
    Array.from({ length: slices }, (_, slice) => ({
      ...row,
      id: `${row.id}-${slice + 1}`,
      fields: { ...row.fields, slice, slices },
    })),
  make: {
    use: 'makers/bug-injection',
    with: ({ dir, options }) => ({
      pipeline: 'issue-tasks',
      root: dir,
      strategy: options.bugs,
      issue: options.issues,
      bugs: options.bugsPerTask,
      attempts: options.attempts,
      tests: options.showTests ? 'visible' : 'hidden',
    }),
  },
})
