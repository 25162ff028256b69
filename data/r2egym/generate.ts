import { definePipeline } from 'ot-agent'

/** Commits of Python repositories, told as issues; what the commit's tests said afterwards has to be said again. */
export default definePipeline({
  name: 'r2egym',
  summary: 'Commits of R2E-Gym in their images, with the commit as solution and its tests as tests',
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'commit_hash' } },
    real: { use: 'sources/hub', with: { repo: 'R2E-Gym/R2E-Gym-Subset', id: 'commit_hash' } },
  },
  make: {
    use: 'makers/swe-row',
    with: ({ dir }) => ({
      pipeline: 'r2egym',
      dialect: 'r2e-gym',
      testCommands: ['.venv/bin/python -W ignore -m pytest -rA --color=no r2e_tests'],
      testFormat: 'pytest-names',
      repositories: {
        dir: `${dir}/fixtures`,
        testCommands: ['python3 -m unittest discover -v -s r2e_tests'],
        testFormat: 'unittest',
      },
    }),
  },
})
