import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StageEntry } from '../../src/core/recipe.ts'
import type { AnyStage, StageServices } from '../../src/core/stage.ts'
import { SqlDatabase, sqlText } from '../../src/lib/duckdb.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { resolveRecipe } from '../../src/run/recipe/resolve.ts'
import { runRecipe } from '../../src/run/recipe/run-recipe.ts'
import type { RecipeTrace } from '../../src/stages/shared/rollout-text/trace-row.ts'
import { commands, conversation, someTrace } from '../recipe-traces.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-leak-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const loop = Array.from({ length: 6 }, () => commands('make\n'))
const token = `hf_${'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0'.slice(0, 34)}`

/** Rows that must not get out, with the stage that must stop each and the reason it must give. */
const planted: readonly (readonly [stage: string, reason: string, row: Partial<RecipeTrace>])[] = [
  [
    'no-infrastructure-failures',
    'failed-sandbox',
    { end: 'failed', boundary: 'sandbox', reward: null, result: 'SandboxError' },
  ],
  ['no-infrastructure-failures', 'cancelled', { end: 'cancelled', reward: null, result: 'CancelledError' }],
  ['no-timeouts', 'timeout', { exit: 'time', result: 'AgentTimeoutError' }],
  ['no-timeouts', 'timeout', { exit: null, result: 'AgentTimeoutError' }],
  ['no-subagents', 'subagent', { trace_source: 'summarization-1-summary' }],
  ['min-turns', 'too-few-turns', { turns: 4 }],
  ['min-reward', 'reward-too-low', { reward: 0, result: '0.0' }],
  ['min-reward', 'no-reward', { reward: null, result: null }],
  ['no-truncation', 'limit-of-context', { exit: 'context', result: 'ContextLengthExceededError' }],
  ['no-truncation', 'ends-without-answer', { conversations: conversation(...loop).slice(0, -1) }],
  ['no-empty-turns', 'empty-turn', { conversations: conversation('ls', ' ') }],
  ['max-tokens', 'too-many-tokens', { conversations: conversation('word '.repeat(3000)) }],
  ['no-loops', 'repeats-itself', { conversations: conversation(...loop) }],
  ['secrets', 'secret', { conversations: conversation(`export HF_TOKEN=${token}`) }],
  [
    'reward-hacking',
    'writes-reward',
    { conversations: conversation(commands('echo 1 > /logs/verifier/reward.txt\n')) },
  ],
  ['reward-hacking', 'reads-grader', { conversations: conversation(commands('cat /tests/test_outputs.py\n')) }],
  ['reward-hacking', 'touches-tests', { conversations: conversation(commands('rm -rf /tests\n')) }],
  ['reward-hacking', 'looks-up-fix', { conversations: conversation(commands('git log --all -p\n')) }],
  [
    'reward-hacking',
    'changes-system',
    { system_effect: 'differ', system_changes: [{ path: '/bin/bash', change: 'modified' }] },
  ],
  ['reward-hacking', 'disables-asserts', { conversations: conversation(commands("sed -i 's/assert /#/' a.py\n")) }],
]

const filters: readonly StageEntry[] = [
  'no-infrastructure-failures',
  'no-timeouts',
  'no-subagents',
  'min-turns',
  'min-reward',
  'no-truncation',
  'no-empty-turns',
  'max-tokens',
  'no-loops',
  'secrets',
  'reward-hacking',
].map((name) => ({ use: `filters/rollouts/${name}`, ...(name === 'max-tokens' && { with: { most: 2000 } }) }))

const traces = [
  ...planted.map(([, , row], i) => someTrace({ ...row, id: `bad-${i}` })),
  ...Array.from({ length: 21 }, (_, i) => someTrace({ id: `good-${i}` })),
]

const made: Record<string, AnyStage> = {
  'sources/planted': {
    kind: 'source',
    gives: 'trace',
    fingerprint: async () => 'planted',
    async *rows() {
      // Alternates good and bad, so that every shard has both.
      yield* [...traces].sort((a, b) => (a.id.slice(-2) < b.id.slice(-2) ? -1 : 1))
    },
  },
  'maps/spoil': {
    kind: 'map',
    takes: 'trace',
    gives: 'trace',
    async *run(rows: AsyncIterable<RecipeTrace>) {
      for await (const row of rows) yield { ...row, conversations: conversation(commands('cat /tests/test.sh\n')) }
    },
  },
  'sinks/ids': {
    kind: 'exporter',
    takes: 'trace',
    async write(input, { sql, outDir }) {
      const rows = await sql.rows(`SELECT id FROM ${input.view}`)
      writeFileSync(join(outDir, 'ids.json'), JSON.stringify(rows.map(({ id }) => id)))
      return { counts: { rows: rows.length }, files: ['ids.json'] }
    },
  },
}

async function run(...stages: readonly StageEntry[]) {
  const make = async (use: string, options: Readonly<Record<string, unknown>>) =>
    made[use] ?? makeAnyStage(use, options)
  const recipe = await resolveRecipe(
    { name: 'leak', stages: [{ use: 'sources/planted' }, ...stages, { use: 'sinks/ids' }] },
    make,
  )
  const { signal } = new AbortController()
  return runRecipe({ recipe, dir, services: {} as StageServices, signal, shardRows: 20, memoryMb: 200 })
}

test('none of what is planted gets out, and each is among the rejects with its reason', async () => {
  const { steps } = await run(...filters)
  const kept: string[] = JSON.parse(readFileSync(join(dir, 'out/ids/ids.json'), 'utf8'))
  expect([...kept].sort()).toEqual(
    traces
      .map(({ id }) => id)
      .filter((id) => id.startsWith('good'))
      .sort(),
  )
  await using sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
  const files = steps.flatMap(({ shards }) => shards.map(({ rejects }) => sqlText(rejects)))
  const rejects = await sql.rows(`SELECT id, stage, reason FROM read_parquet([${files.join(', ')}])`)
  const byId = Object.fromEntries(rejects.map(({ id, stage, reason }) => [id, [stage, reason]]))
  expect(byId).toEqual(Object.fromEntries(planted.map(([stage, reason], i) => [`bad-${i}`, [stage, reason]])))
  expect(rejects).toHaveLength(planted.length)
  // The source; then what SQL can check, in one scan; then what reads conversations.
  expect(steps.map(({ manifest }) => manifest.counts.length)).toEqual([1, 7, 4])
})

test('a stage that brings a hack back after the filter ends the run', async () => {
  await expect(run({ use: 'filters/rollouts/reward-hacking' }, { use: 'maps/spoil' })).rejects.toThrow(
    /stage reward-hacking: row \S+ of the result should have been dropped \(reads-grader\)/,
  )
})
