import { defineRecipe } from 'ot-agent'

const teacher = { model: 'zai-org/GLM-4.6', engine: 'openai-compatible', apiBase: 'http://127.0.0.1:8000/v1' }

/** The first OpenThoughts-Agent dataset: shell commands and bugs found by an analyzer, about 15,000 traces. */
export default defineRecipe({
  name: 'openthoughts-agent-v1',
  summary: 'nl2bash and inferredbugs, GLM-4.6 with terminus-2 in Daytona',
  seed: 42,
  stages: [
    { id: 'nl2bash', use: 'sources/pipeline', with: { pipeline: 'nl2bash', args: { source: 'real', check: false } } },
    // This folder holds a clone of https://github.com/microsoft/InferredBugs.
    {
      id: 'inferredbugs',
      use: 'sources/pipeline',
      with: { pipeline: 'inferredbugs', args: { source: 'real', inputDir: 'InferredBugs', check: false } },
    },
    // All of both, shuffled.
    { id: 'mix', use: 'mixers/weighted' },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    // The package has no pack for these two: one is gated, the other was unavailable.
    {
      id: 'benchmarks',
      use: 'filters/tasks/decontaminated',
      with: { waive: ['gaia', 'openthoughts-tblite'] },
    },
    { id: 'verified', use: 'filters/tasks/verified', with: { sandbox: 'daytona', concurrency: 64 } },
    { id: 'allocate', use: 'rollouts/allocate', with: { target: 20_000 } },
    {
      id: 'rollout',
      use: 'rollouts/agent',
      with: { teacher, agent: 'terminus-2', sandbox: 'daytona', concurrency: 128, assume: { yield: 0.76 } },
    },
    { id: 'failures', use: 'filters/rollouts/no-infrastructure-failures' },
    { id: 'timeouts', use: 'filters/rollouts/no-timeouts' },
    { id: 'subagents', use: 'filters/rollouts/no-subagents' },
    { id: 'hacks', use: 'filters/rollouts/reward-hacking' },
    { id: 'secrets', use: 'filters/rollouts/secrets' },
    { id: 'dataset', use: 'exporters/sharegpt' },
  ],
})
