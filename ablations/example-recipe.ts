import { defineRecipe } from 'ot-agent'

/** Composed tasks, played by a stand-in: what the example of an ablation varies. */
export default defineRecipe({
  name: 'ablation-example',
  seed: 7,
  stages: [
    {
      id: 'composer',
      use: 'sources/pipeline',
      with: { pipeline: 'terminal-composer', args: { count: 12, check: false } },
    },
    {
      id: 'rollout',
      use: 'rollouts/agent',
      with: {
        teacher: { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } },
        agent: { name: 'terminus-2', options: { max_turns: 6 } },
        sandbox: 'local',
        concurrency: 2,
      },
    },
    { id: 'turns', use: 'filters/rollouts/min-turns', with: { least: 3 } },
    { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0 } },
  ],
})
