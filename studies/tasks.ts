import { defineRecipe } from 'ot-agent'
import { domains, unseen } from './recipe.ts'

/** The tasks of recipe.ts without traces, for studies whose commands run the rollouts themselves. */
export default defineRecipe({
  name: 'student-tasks',
  seed: 7,
  stages: [
    {
      id: 'composer',
      use: 'sources/pipeline',
      with: {
        pipeline: 'terminal-composer',
        args: { first: 1000, count: 3160, domains, without: unseen, check: false },
      },
    },
    { id: 'tasks', use: 'exporters/rl', with: { validation: 0, trainers: ['trl'] } },
  ],
})
