// Your own maker and rollout: lines become tasks, and trials of the tasks become traces.
// npx ot-agent recipe run examples/09-make-and-roll-out.ts -o runs/copies
import { defineRecipe } from 'ot-agent'

export default defineRecipe({
  name: 'copies',
  stages: [
    { use: './stages/lines.ts', with: { path: 'stages/proverbs.txt' } },
    { use: './stages/no-questions.ts' },
    { use: './stages/copy-task.ts' },
    { id: 'two', use: 'filters/tasks/random', with: { keep: 2 } },
    { use: './stages/roll-once.ts', with: { model: 'any', engine: 'plugins/engine.ts' } },
    { id: 'rows', use: 'exporters/sharegpt', with: { validation: 0, replay: 0 } },
  ],
})
