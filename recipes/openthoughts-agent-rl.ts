import { defineRecipe } from 'ot-agent'

/** Tasks for reinforcement learning: proven, distinct from the benchmarks, and without duplicates. */
export default defineRecipe({
  name: 'openthoughts-agent-rl',
  summary: 'Verified tasks of three sources as prompt sets for SkyRL, verl and TRL',
  seed: 42,
  stages: [
    { id: 'nl2bash', use: 'sources/pipeline', with: { pipeline: 'nl2bash', args: { source: 'real', check: false } } },
    {
      id: 'code-contests',
      use: 'sources/pipeline',
      with: { pipeline: 'code-contests', args: { source: 'real', check: false, limit: 5000 } },
    },
    {
      id: 'composer',
      use: 'sources/pipeline',
      with: { pipeline: 'terminal-composer', args: { count: 5000, check: false } },
    },
    // All of them, shuffled; `total` and `temperature` would select fewer.
    { id: 'mix', use: 'mixers/weighted' },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    { id: 'alike', use: 'filters/tasks/near-duplicates' },
    // The package has no pack for these two: one is gated, the other was unavailable.
    {
      id: 'benchmarks',
      use: 'filters/tasks/decontaminated',
      with: { waive: ['gaia', 'openthoughts-tblite'] },
    },
    { id: 'verified', use: 'filters/tasks/verified', with: { sandbox: 'daytona', concurrency: 64 } },
    { id: 'prompts', use: 'exporters/rl' },
  ],
})
