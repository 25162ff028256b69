/** A recipe whose first steps work shard by shard, followed by one that needs every row. */
export const recipeText = `export default {
  name: 'shared',
  seed: 7,
  stages: [
    { id: 'made', use: './made.ts', with: { count: 60 } },
    { use: 'filters/rollouts/min-turns', with: { least: 5 } },
    { use: 'filters/rollouts/no-loops' },
    { use: 'filters/rollouts/exact-duplicates' },
    { use: 'exporters/sharegpt', with: { formats: ['parquet'], replay: 0 } },
  ],
}
`

/** Traces of 2 KB, one in twenty a copy. */
export const sourceText = `import { definePlugin, z } from 'ot-agent'
const word = (n) => 'w' + (n % 20000).toString(36).padStart(3, '0')
const text = (seed, words) => { let n = seed * 7919 + 1, out = ''; for (let i = 0; i < words; i++) { n = (n * 1103515245 + 12345) % 2147483648; out += word(n >> 8) + ' ' } return out }
export default definePlugin({
  name: 'made', summary: 'made-up traces', options: z.strictObject({ count: z.number() }),
  make: ({ count }) => ({ kind: 'source', gives: 'trace', async *rows() { for (let i = 0; i < count; i++) yield trace(i) } }),
})
function trace(i) {
  const seed = i % 20 === 0 ? Math.max(0, i - 3) : i
  const conversations = Array.from({ length: 10 }, (_, turn) => ({ role: turn % 2 === 0 ? 'user' : 'assistant', content: text(seed * 10 + turn, 40) }))
  return { id: 't' + i, conversations, agent: 'terminus-2', model: 'made-up', model_provider: 'none', date: '2026-01-01T00:00:00Z',
    task: 'task-' + (i % 5000), episode: 'episode-1', run_id: 'bench', trial_name: 'trial-' + i, result: '1.0', trace_source: 'main',
    prompt_digest: String(i), task_digest: String(i % 5000), attempt: 1, reward: 1, end: 'scored', exit: 'finished', turns: i % 30 === 0 ? 3 : 5,
    context_messages: 0, input_tokens: 5000, output_tokens: 2000, job: 'bench', source: 'bench', schema: 'trace/1', lineage: null, signals: {}, tool_calls: [] }
}
`
