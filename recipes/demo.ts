import { defineRecipe } from 'ot-agent'

const files = `${import.meta.dirname}/demo`
/**
 * Plays the tasks' own solutions, so that everything runs offline. To use a real model, pass --api-base and --model.
 */
const standIn = { model: 'scripted/stand-in', engine: 'scripted' }

/**
 * The main job in miniature, offline: tasks from three pipelines, filtered and proven, rolled out, filtered and
 * exported.
 */
export default defineRecipe({
  name: 'demo',
  summary: 'Tasks of three pipelines become a dataset of traces, offline, with a stand-in for the teacher',
  seed: 7,
  stages: [
    { id: 'nl2bash', use: 'sources/pipeline', with: { pipeline: 'nl2bash', args: { check: false, limit: 12 } } },
    {
      id: 'composer',
      use: 'sources/pipeline',
      with: { pipeline: 'terminal-composer', args: { check: false, count: 8 } },
    },
    { id: 'puzzles', use: 'sources/pipeline', with: { pipeline: 'all-puzzles', args: { check: false, count: 8 } } },
    { id: 'mix', use: 'mixers/round-robin', with: { total: 18 } },
    { id: 'same', use: 'filters/tasks/exact-duplicates' },
    { id: 'alike', use: 'filters/tasks/near-duplicates' },
    { id: 'benchmarks', use: 'filters/tasks/decontaminated', with: { packs: files, benchmarks: ['held-out'] } },
    {
      id: 'length',
      use: 'filters/tasks/response-length',
      with: { model: { ...standIn, options: { script: `${files}/stand-in.json` } } },
    },
    { id: 'verified', use: 'filters/tasks/verified', with: { concurrency: 2 } },
    { id: 'allocate', use: 'rollouts/allocate', with: { perTask: 1.25, by: 'response-tokens' } },
    {
      id: 'rollout',
      use: 'rollouts/agent',
      with: { teacher: { ...standIn, options: { tasks: '{tasks}' } }, agent: 'terminus-2', sandbox: 'local' },
    },
    { id: 'timeouts', use: 'filters/rollouts/no-timeouts' },
    { id: 'subagents', use: 'filters/rollouts/no-subagents' },
    { id: 'turns', use: 'filters/rollouts/min-turns', with: { least: 3 } },
    { id: 'hacks', use: 'filters/rollouts/reward-hacking' },
    { id: 'secrets', use: 'filters/rollouts/secrets' },
    { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0.1 } },
  ],
})
