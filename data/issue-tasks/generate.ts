import { definePipeline, UserError, z } from 'ot-agent'
import { readPackages } from './packages.ts'

const provide = 'pass one with --input-dir, or a file with repositories with --source FILE'

/** Bugs injected into repositories; the agent reads an issue about the problem and sees none of the deciding tests. */
export default definePipeline({
  name: 'issue-tasks',
  summary: 'Issues about bugs that were put into repositories, decided by the repositories’ own tests',
  options: z.strictObject({
    bugsPerRepository: z.number().int().min(1).default(8).describe('rows, and so tasks at most, of one repository'),
    bugsPerTask: z.number().int().min(1).max(10).default(1).describe('bugs in one task, each in another function'),
    attempts: z.number().int().min(1).default(20).describe('mutants that are tried for one task'),
    bugs: z.enum(['procedural', 'model']).default('procedural').describe('who writes the bugs; a model needs --model'),
    issues: z.enum(['template', 'model']).default('template').describe('who writes the issues'),
    runner: z
      .enum(['pytest', 'unittest'])
      .default('pytest')
      .describe('with --input-dir: what runs the tests of packages; unittest needs no installation'),
    install: z
      .array(z.string().regex(/^[\w.[\]=<>~!,-]+$/))
      .optional()
      .describe('with --input-dir: what pip installs for the tests (default: pytest==8.4.2, for unittest nothing)'),
    versions: z
      .number()
      .int()
      .min(0)
      .default(1)
      .describe('with --input-dir: earlier versions whose bugs are brought back'),
    showTests: z.boolean().default(false).describe('leave the tests where the agent can run them'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'name' } },
    // For repositories in any language, list them in a file like the fixture: --source FILE.
    real: ({ inputDir, options }) => {
      if (inputDir === null) throw new UserError('issue-tasks: expected a folder of source distributions', provide)
      const { runner, versions, install = runner === 'pytest' ? ['pytest==8.4.2'] : [] } = options
      return readPackages(inputDir, { runner, install, versions })
    },
  },
  needs: ({ inputDir }) => {
    const what = 'source distributions of Python packages'
    return [inputDir === null ? { kind: 'missing', what, provide } : { kind: 'folder', path: inputDir, what, provide }]
  },
  needsModel: ({ bugs, issues }) => bugs === 'model' || issues === 'model',
  // Many rows share one repository, so an interrupted run resumes bug by bug.
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
      // A package would not have been released with most of its tests failing.
      maxBroken: 0.5,
      tests: options.showTests ? 'visible' : 'hidden',
    }),
  },
})
