import { defineRecipe } from 'ot-agent'
import { domains, traced, unseen } from './recipe.ts'

/** For each seed, the composer has 8,000 tasks with four-digit numbers. */
const seeds = Array.from({ length: 13 }, (_, index) => 301 + index)

/** Up to 104,000 traces of composed tasks like those of recipe.ts. */
export default defineRecipe({
  name: 'student-many',
  seed: 7,
  stages: [
    ...seeds.map((seed) => ({
      id: `composer-${seed}`,
      use: 'sources/pipeline',
      with: {
        pipeline: 'terminal-composer',
        args: { seed, first: 1000, count: 8000, domains, without: unseen, check: false },
      },
    })),
    { id: 'mix', use: 'mixers/round-robin', with: { total: 20000 } },
    ...traced,
  ],
})
