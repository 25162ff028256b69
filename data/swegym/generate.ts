import { definePipeline, z } from 'ot-agent'

/**
 * Real issues from Python repositories; the pull request's fix is the solution and its test patch the tests, both
 * hidden.
 */
export default definePipeline({
  name: 'swegym',
  summary: 'Issues of SWE-Gym with the fix as solution and the test patch as tests',
  options: z.strictObject({
    image: z
      .string()
      .default('xingyaoww/sweb.eval.x86_64.{{id}}')
      .describe('image of a row; {{id}} is its instance in the spelling of image names'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'instance_id' } },
    real: { use: 'sources/hub', with: { repo: 'SWE-Gym/SWE-Gym', id: 'instance_id' } },
  },
  make: {
    use: 'makers/swe-row',
    with: ({ dir, options: { image } }) => ({
      pipeline: 'swegym',
      dialect: 'swe-bench',
      image,
      testCommands: ['. /opt/miniconda3/bin/activate testbed; pytest -rA --color=no {{testFiles}}'],
      otherNames: {
        // The commands that SWE-bench uses for Django's own runner and for SymPy's.
        unittest: {
          testCommands: [
            '. /opt/miniconda3/bin/activate testbed; ./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 {{testModules}}',
          ],
          testFormat: 'unittest-lines',
        },
        bare: {
          testCommands: [
            ". /opt/miniconda3/bin/activate testbed; PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose {{testFiles}}",
          ],
          testFormat: 'name-ok',
        },
      },
      repositories: {
        dir: `${dir}/fixtures`,
        testCommands: ['python3 -m unittest -v'],
        testFormat: 'unittest',
      },
    }),
  },
})
