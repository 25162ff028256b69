import { definePipeline } from 'ot-agent'

/** Bugs that SWE-smith put into Python repositories; the way back is the solution, and the repository's tests decide. */
export default definePipeline({
  name: 'swesmith',
  summary: 'Bugs of SWE-smith in the images of their repositories, decided by the repositories’ own tests',
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'instance_id' } },
    real: { use: 'sources/hub', with: { repo: 'SWE-bench/SWE-smith', id: 'instance_id' } },
  },
  make: {
    use: 'makers/swe-row',
    with: ({ dir }) => ({
      pipeline: 'swesmith',
      dialect: 'swe-smith',
      // The commit before the last still has the tests that the last one takes away.
      checkout: '{{id}}~1',
      testCommands: ['. /opt/miniconda3/bin/activate testbed; pytest -rA --color=no {{testFiles}}'],
      repositories: {
        dir: `${dir}/fixtures`,
        testCommands: ['python3 -m unittest -v'],
        testFormat: 'unittest',
      },
    }),
  },
  // Where many rows share a repository, a share of each is worth more than the first thousand of one.
  sampling: { order: 'shuffled' },
})
