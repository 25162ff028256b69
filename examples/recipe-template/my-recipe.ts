import { defineRecipe } from 'ot-agent'

/** A stand-in that plays each task's own solution, so that the recipe runs offline. Put your model here: { model: 'openai/gpt-x' }. */
const teacher = { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } }

/** Tasks, rolled out with a teacher, filtered and exported. `ot-agent recipe stages` lists what else there is. */
export default defineRecipe({
  name: 'my-recipe',
  seed: 1,
  stages: [
    { id: 'tasks', use: 'sources/pipeline', with: { pipeline: 'terminal-composer', args: { check: false, count: 6 } } },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    // Tasks that share words with the benchmarks that models are measured by. Two of those do not come with the package.
    { id: 'benchmarks', use: 'filters/tasks/decontaminated', with: { waive: ['gaia', 'openthoughts-tblite'] } },
    { id: 'rollout', use: 'rollouts/agent', with: { teacher, agent: 'terminus-2', sandbox: 'local', concurrency: 2 } },
    { id: 'timeouts', use: 'filters/rollouts/no-timeouts' },
    { id: 'dataset', use: 'exporters/sharegpt' },
  ],
})
