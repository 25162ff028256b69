import { defineRecipe } from 'ot-agent'

/** Where the teacher is served; a key, if it wants one, is in the variable that `apiKeyEnv` names. */
const teacher = { model: 'zai-org/GLM-4.7', engine: 'openai-compatible', apiBase: 'http://127.0.0.1:8000/v1' }

/** 10,000 traces from one source: what the paper compares sources by. */
export default defineRecipe({
  name: 'paper-one-source',
  summary: 'One source, 10,000 tasks, GLM-4.7 with terminus-2 in Daytona',
  seed: 42,
  stages: [
    {
      id: 'source',
      use: 'sources/pipeline',
      with: { pipeline: 'swesmith', args: { source: 'real', check: false, limit: 10_000 } },
    },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    // No pack of these two comes with the package: one is gated, the other could not be had.
    { id: 'benchmarks', use: 'filters/tasks/decontaminated', with: { waive: ['gaia', 'openthoughts-tblite'] } },
    { id: 'allocate', use: 'rollouts/allocate', with: { target: 10_000 } },
    {
      id: 'rollout',
      use: 'rollouts/agent',
      with: { teacher, agent: 'terminus-2', sandbox: 'daytona', concurrency: 128 },
    },
    { id: 'failures', use: 'filters/rollouts/no-infrastructure-failures' },
    { id: 'secrets', use: 'filters/rollouts/secrets' },
    { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0.01 } },
  ],
})
