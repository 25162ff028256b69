import { defineRecipe } from 'ot-agent'

/** Where the teacher is served; a key, if it wants one, is in the variable that `apiKeyEnv` names. */
const teacher = { model: 'zai-org/GLM-4.7', engine: 'openai-compatible', apiBase: 'http://127.0.0.1:8000/v1' }
const site = (name: string, limit: number) => ({
  id: name,
  use: 'sources/pipeline' as const,
  with: {
    pipeline: 'stackexchange',
    source: name,
    args: { site: name, source: 'real', inputDir: 'dumps', check: false, limit },
  },
})

/** 10,000 traces from the four sources that the paper chose: what its later ablations start from. */
export default defineRecipe({
  name: 'paper-four-sources',
  summary: 'Four sources in equal parts, 10,000 tasks, GLM-4.7 with terminus-2 in Daytona',
  seed: 42,
  stages: [
    {
      id: 'swesmith',
      use: 'sources/pipeline',
      with: { pipeline: 'swesmith', args: { source: 'real', check: false, limit: 10_000 } },
    },
    site('superuser', 10_000),
    site('tezos', 1000),
    // The file names repositories, one a line, as the pipeline's fixture does.
    {
      id: 'issue-tasks',
      use: 'sources/pipeline',
      with: { pipeline: 'issue-tasks', args: { source: 'repositories.jsonl', check: false, limit: 4830 } },
    },
    {
      id: 'mix',
      use: 'mixers/top-k',
      with: { k: 4, ranking: ['swesmith', 'superuser', 'tezos', 'issue-tasks'], total: 10_000, upsample: true },
    },
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
