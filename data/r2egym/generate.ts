import { resolve } from 'node:path'
import { definePipeline, z } from 'ot-agent'

/** R2E-Gym's own command for all its repositories; only those that open windows have the display. */
const environment = "QT_QPA_PLATFORM=minimal PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning'"
const display = '$(command -v xvfb-run > /dev/null && echo xvfb-run --auto-servernum)'
const pytest = '-W ignore -m pytest -rA --color=no r2e_tests'

/**
 * Commits of Python repositories, presented as issues; the commit's tests must give the same results as after the
 * commit.
 */
export default definePipeline({
  name: 'r2egym',
  summary: 'Commits of R2E-Gym in their images, with the commit as solution and its tests as tests',
  options: z.strictObject({
    repositories: z
      .string()
      .default('')
      .describe('folder with clones of the repositories, by their names: tasks are built from these instead of images'),
    install: z
      .array(z.string().regex(/^[\w.[\]=<>~!,-]+$/))
      .default(['pytest==8.4.2'])
      .describe('with clones: what pip installs for the tests'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'commit_hash' } },
    real: { use: 'sources/hub', with: { repo: 'R2E-Gym/R2E-Gym-Subset', id: 'commit_hash' } },
  },
  make: {
    use: 'makers/swe-row',
    with: ({ dir, options: { repositories, install } }) => ({
      pipeline: 'r2egym',
      dialect: 'r2e-gym',
      testCommands: [`${environment} ${display} .venv/bin/python ${pytest}`],
      testFormat: 'pytest-names',
      repositories:
        repositories === ''
          ? {
              dir: `${dir}/fixtures`,
              testCommands: ['python3 -m unittest discover -v -s r2e_tests'],
              testFormat: 'unittest',
            }
          : {
              dir: resolve(repositories),
              setup: [
                `PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --quiet ${install.map((name) => `'${name}'`).join(' ')}`,
              ],
              testCommands: [`${environment} PYTHONPATH=.:src:lib python3 ${pytest} -o addopts=`],
              testFormat: 'pytest-names',
            },
    }),
  },
})
