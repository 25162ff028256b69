import { resolve } from 'node:path'
import { definePipeline, z } from 'ot-agent'

/**
 * Bugs that SWE-smith put into Python repositories; reverting one is the solution, and the repository's tests decide.
 */
export default definePipeline({
  name: 'swesmith',
  summary: 'Bugs of SWE-smith in the images of their repositories, decided by the repositories’ own tests',
  options: z.strictObject({
    repositories: z
      .string()
      .default('')
      .describe('folder with clones of the repositories, OWNER__NAME: tasks are built from these instead of images'),
    install: z
      .array(z.string().regex(/^[\w.[\]=<>~!,-]+$/))
      .default(['pytest==8.4.2'])
      .describe('with clones: what pip installs for the tests'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'instance_id' } },
    real: { use: 'sources/hub', with: { repo: 'SWE-bench/SWE-smith', id: 'instance_id' } },
  },
  make: {
    use: 'makers/swe-row',
    with: ({ dir, options: { repositories, install } }) => ({
      pipeline: 'swesmith',
      dialect: 'swe-smith',
      // The last commit removes the deciding tests; the one before it still has them.
      checkout: '{{id}}~1',
      testCommands: ['. /opt/miniconda3/bin/activate testbed; pytest -rA --color=no {{testFiles}}'],
      repositories:
        repositories === ''
          ? { dir: `${dir}/fixtures`, testCommands: ['python3 -m unittest -v'], testFormat: 'unittest' }
          : {
              dir: resolve(repositories),
              setup: [
                `PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --quiet ${install.map((name) => `'${name}'`).join(' ')}`,
              ],
              testCommands: ['PYTHONPATH=.:src:lib python3 -m pytest -rA --color=no -o addopts= {{testFiles}}'],
              testFormat: 'pytest',
            },
    }),
  },
  // Many rows share a repository, and some rows from each are worth more than the first thousand from one.
  sampling: { order: 'shuffled' },
})
