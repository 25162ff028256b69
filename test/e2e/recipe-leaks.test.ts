import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { StageEntry } from '../../src/core/recipe.ts'
import type { AnyStage, StageServices } from '../../src/core/stage.ts'
import { SqlDatabase, sqlText } from '../../src/lib/duckdb.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { resolveRecipe } from '../../src/run/recipe/resolve.ts'
import { runRecipe } from '../../src/run/recipe/run-recipe.ts'
import { commands, conversation, someTrace } from '../recipe-traces.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-leaks-'))
afterAll(() => rmSync(dir, { recursive: true }))

const packs = join(dir, 'packs')
mkdirSync(packs)
const held = 'Rebuild the ancient harbour ledger from the torn pages and list every ship twice.'
writeFileSync(join(packs, 'held-out.jsonl'), `${JSON.stringify({ id: 'ledger', instruction: held })}\n`)

/** Words that no other trace has, so that only planted twins are similar. */
const words = (seed: number) => Array.from({ length: 60 }, (_, i) => `word${(seed * 61 + i) % 9973}`).join(' ')
const about = (seed: number, text = words(seed)) => ({
  instruction: text,
  conversations: conversation(...[1, 2, 3, 4, 5].map((i) => commands(`echo ${words(seed * 7 + i)}\n`))).map(
    (turn, i) => (i === 0 ? { ...turn, content: text } : turn),
  ),
})
const trace = (id: string, seed: number, over: object = {}) =>
  someTrace({ id, task: id, task_digest: `task-${id}`, ...about(seed), ...over })
const withCommand = (seed: number, command: string) => ({
  conversations: [...about(seed).conversations.slice(0, -1), { role: 'assistant', content: commands(`${command}\n`) }],
})

/** Rows that must never be published, by the reason for dropping them. */
const planted: Record<string, object> = {
  timeout: { exit: 'time', result: 'AgentTimeoutError' },
  subagent: { trace_source: 'summarization-1-summary' },
  'too-few-turns': { turns: 2 },
  contaminated: { ...about(903, `Please do this. ${held}`) },
  secret: withCommand(904, `export AWS_ACCESS_KEY_ID=AKIA${'Q3ZB7L2M9XKT4WPE'}`),
  'touches-tests': withCommand(905, "echo 'exit 0' > /tests/test.sh"),
  'writes-reward': withCommand(906, 'echo 1 > /logs/verifier/reward.txt'),
}

const given = (rows: readonly object[]): AnyStage => ({
  kind: 'source',
  gives: 'trace',
  fingerprint: async () => 'planted',
  async *rows() {
    yield* rows
  },
})

async function runLeaks(name: string, stages: readonly object[], own: Readonly<Record<string, AnyStage>>) {
  const recipe = await resolveRecipe({ name, stages: stages as StageEntry[] }, async (use, options) => {
    return own[use] ?? makeAnyStage(use, options)
  })
  const { signal } = new AbortController()
  const services = {} as StageServices
  return runRecipe({ recipe, dir: join(dir, name), services, signal, shardRows: 8, memoryMb: 300 })
}

const rollouts = (name: string, options: object = {}) => ({ use: `filters/rollouts/${name}`, with: { ...options } })
const clean = Array.from({ length: 30 }, (_, i) => trace(`clean-${i}`, i))

/** Rows 19 and 20, as if a stage after the filter had corrupted them, and the filter that has to report it. */
const spoilt: [string, string, object, (i: number) => object][] = [
  ['no-timeouts', 'timeout', {}, () => ({ exit: 'time', result: 'AgentTimeoutError' })],
  ['secrets', 'secret', {}, () => planted.secret ?? {}],
  ['reward-hacking', 'writes-reward', {}, () => planted['writes-reward'] ?? {}],
  ['exact-duplicates', 'duplicate', {}, () => about(3)],
  ['near-duplicates', 'near-duplicate', {}, (i) => withCommand(3, `echo ${i}`)],
  ['decontaminated', 'contaminated', { packs, benchmarks: ['held-out'] }, () => planted.contaminated ?? {}],
]

test.each(spoilt)(
  'what is spoilt below %s is found by it before anything is written: %s',
  async (filter, reason, options, over) => {
    const spoil: AnyStage = {
      kind: 'map',
      takes: 'trace',
      gives: 'trace',
      async *run(rows: AsyncIterable<{ id: string }>) {
        for await (const row of rows)
          yield ['clean-19', 'clean-20'].includes(row.id) ? { ...row, ...over(Number(row.id.slice(6))) } : row
      },
    }
    const stages = [{ use: 'planted' }, rollouts(filter, options), { use: 'spoil' }, { use: 'exporters/sharegpt' }]
    await expect(runLeaks(`spoilt-${filter}`, stages, { planted: given(clean), spoil })).rejects.toMatchObject({
      code: 'FilterLeak',
      message: expect.stringMatching(
        new RegExp(`^stage ${filter}: row clean-(19|20) of the result .* \\(${reason}\\)$`),
      ),
    })
    expect(existsSync(join(dir, `spoilt-${filter}`, 'out'))).toBe(false)
  },
)

test('what was planted is in no export, and among the rejects with the right reason', async () => {
  const bad = Object.entries(planted).map(([reason, over], i) => trace(reason, 900 + i, over))
  const twin = { ...clean[3], id: 'duplicate' }
  const rows = [...clean.slice(0, 20), ...bad, twin, ...clean.slice(20)]
  const stages = [
    { use: 'planted' },
    ...['no-timeouts', 'no-subagents', 'min-turns', 'reward-hacking', 'secrets', 'exact-duplicates'].map((name) =>
      rollouts(name),
    ),
    rollouts('decontaminated', { packs, benchmarks: ['held-out'] }),
    // No model ever said these rows, so there is nothing to replay.
    { use: 'exporters/sharegpt', with: { validation: 0.1, replay: 0 } },
    { use: 'exporters/ladder', with: { sizes: [5, 20] } },
  ]
  const run = join(dir, 'leaks')
  const { steps } = await runLeaks('leaks', stages, { planted: given(rows) })

  await using sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
  const ids = async (glob: string) =>
    (await sql.rows(`SELECT id FROM read_parquet(${sqlText(join(run, glob))})`)).map(({ id }) => String(id)).sort()
  const expected = clean.map(({ id }) => id).sort()
  expect(await ids('out/sharegpt/data/*.parquet')).toEqual(expected)
  expect((await ids('out/ladder/20/*.parquet')).filter((id) => !id.startsWith('clean-'))).toEqual([])
  const rejects = await sql.rows(
    `SELECT id, reason FROM read_parquet([${steps.flatMap(({ shards }) => shards.map(({ rejects }) => sqlText(rejects))).join(', ')}])`,
  )
  const found = Object.fromEntries(rejects.map(({ id, reason }) => [String(id), String(reason)]))
  expect(found).toEqual({
    ...Object.fromEntries(Object.keys(planted).map((reason) => [reason, reason])),
    duplicate: 'duplicate',
  })
  const card = readFileSync(join(run, 'out/sharegpt/README.md'), 'utf8')
  expect(card).toContain('contaminated 1')
  expect(card).toContain(
    'Stage `decontaminated` drops what shares 8 words in a row with a benchmark task, or is 0.8 alike: 1 row.',
  )
})
