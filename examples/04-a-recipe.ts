// A recipe is a list of stages, checked by the compiler. This one turns a folder of tasks into prompt sets for reinforcement learning.
// npx ot-agent recipe run examples/04-a-recipe.ts -o runs/example
import { defineRecipe } from 'ot-agent'

export default defineRecipe({
  name: 'example',
  seed: 1,
  stages: [
    { id: 'tasks', use: 'sources/task-folder', with: { path: `${import.meta.dirname}/tasks` } },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    { id: 'sample', use: 'filters/tasks/random', with: { keep: 6 } },
    { id: 'prompts', use: 'exporters/rl', with: { validation: 0.2 } },
  ],
})
