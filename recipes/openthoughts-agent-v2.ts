import { defineRecipe } from 'ot-agent'

/** Where the teacher is served; set `apiKeyEnv` to the name of the variable with its key, if it needs one. */
const teacher = { model: 'zai-org/GLM-4.7', engine: 'openai-compatible', apiBase: 'http://127.0.0.1:8000/v1' }
const gauge = { model: 'openai/gpt-5-nano' }

/**
 * The 100K OpenThoughts-Agent dataset: four sources, each task once and the rest allocated by length, long rollouts of
 * one teacher.
 */
export default defineRecipe({
  name: 'openthoughts-agent-v2',
  summary:
    'Four sources in equal parts, length as the weight, GLM-4.7 with terminus-2 in Daytona, traces of 5 turns and more',
  seed: 42,
  stages: [
    {
      id: 'swesmith',
      use: 'sources/pipeline',
      with: { pipeline: 'swesmith', args: { source: 'real', check: false, limit: 9998 } },
    },
    // The file lists repositories, one per line, like the pipeline's fixture.
    {
      id: 'issue-tasks',
      use: 'sources/pipeline',
      with: { pipeline: 'issue-tasks', args: { source: 'repositories.jsonl', check: false, limit: 4830 } },
    },
    // This folder holds the archives of the public Stack Exchange dump. Knowledge questions become tasks that a judge
    // scores.
    {
      id: 'superuser',
      use: 'sources/pipeline',
      with: {
        pipeline: 'stackexchange',
        source: 'superuser',
        args: { site: 'superuser', kind: 'all', source: 'real', inputDir: 'dumps', check: false, limit: 12_817 },
      },
    },
    {
      id: 'tezos',
      use: 'sources/pipeline',
      with: {
        pipeline: 'stackexchange',
        source: 'tezos',
        args: { site: 'tezos', kind: 'all', source: 'real', inputDir: 'dumps', check: false, limit: 997 },
      },
    },
    // 997 problems in 21 surface forms each, with the same tests.
    {
      id: 'tezos-forms',
      use: 'augment/rewrite',
      from: 'tezos',
      with: { model: gauge, variants: 20, keepOriginal: true, concurrency: 64 },
    },
    {
      id: 'mix',
      use: 'mixers/top-k',
      with: { k: 4, ranking: ['swesmith', 'issue-tasks', 'superuser', 'tezos-forms'] },
    },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    // The package has no pack for these two: one is gated, the other was unavailable.
    {
      id: 'benchmarks',
      use: 'filters/tasks/decontaminated',
      with: { waive: ['gaia', 'openthoughts-tblite'] },
    },
    { id: 'verified', use: 'filters/tasks/verified', with: { sandbox: 'daytona', concurrency: 64, judge: gauge } },
    { id: 'length', use: 'filters/tasks/response-length', with: { model: gauge, concurrency: 64 } },
    // Filters keep about half of the rollouts, which leaves 100,000.
    { id: 'allocate', use: 'rollouts/allocate', with: { target: 200_000, by: 'response-tokens' } },
    {
      id: 'rollout',
      use: 'rollouts/agent',
      with: {
        teacher,
        agent: 'terminus-2',
        sandbox: 'daytona',
        concurrency: 128,
        judge: gauge,
        assume: { yield: 0.5 },
      },
    },
    { id: 'failures', use: 'filters/rollouts/no-infrastructure-failures' },
    { id: 'timeouts', use: 'filters/rollouts/no-timeouts' },
    { id: 'subagents', use: 'filters/rollouts/no-subagents' },
    { id: 'turns', use: 'filters/rollouts/min-turns', with: { least: 5 } },
    { id: 'empty', use: 'filters/rollouts/no-empty-turns' },
    { id: 'hacks', use: 'filters/rollouts/reward-hacking' },
    { id: 'secrets', use: 'filters/rollouts/secrets' },
    { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0.01, training: { epochs: 7 } } },
    { id: 'ladder', use: 'exporters/ladder', with: { validation: 0.01 } },
  ],
})
