import { defineRecipe } from 'ot-agent'
import { domains, traced, unseen } from './recipe.ts'

/** The first number of each part: names of directories end in three to six digits. */
const firsts = [
  1000, 20000, 1000, 1000, 20000, 1000, 5000, 300000, 5000, 60000, 100, 1000, 20000, 5000, 700000, 1000, 40000, 5000,
  200, 1000, 20000, 5000, 300000, 1000, 60000,
]

/** Up to 100,000 traces: a fifth of their instructions have the usual wordings, the others one of many. */
export default defineRecipe({
  name: 'student-varied',
  seed: 7,
  stages: [
    ...firsts.map((first, index) => ({
      id: `composer-${index}`,
      use: 'sources/pipeline',
      with: {
        pipeline: 'terminal-composer',
        args: {
          ...{ seed: 301 + index, first, count: 4000, domains, without: unseen, check: false },
          wordings: index % 5 === 0 ? 'usual' : 'many',
        },
      },
    })),
    { id: 'mix', use: 'mixers/round-robin', with: { total: 100_000 } },
    ...traced,
  ],
})
