import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyStage, StageServices } from '../src/core/stage.ts'
import { SqlDatabase, sqlText } from '../src/lib/duckdb.ts'
import { makeRandom } from '../src/lib/random.ts'
import { makeAnyStage } from '../src/plugins.ts'
import { resolveRecipe } from '../src/run/recipe/resolve.ts'
import { type RecipeEvent, runRecipe } from '../src/run/recipe/run-recipe.ts'
import type { Row } from './lib/rows.ts'

/** The sizes the chain runs at: so many traces of so many kilobytes. */
const sizes = (process.env.RECIPE_SIZES ?? '100000x20,1000000x2')
  .split(',')
  .map((size) => size.split('x').map(Number) as [number, number])
const goalMb = 2000

/** Filters, deduplicates, decontaminates, splits and exports made-up traces in one run, beside DuckDB's own read and write of the same rows. */
export default {
  name: 'recipe',
  run: async (): Promise<Row[]> => {
    const rows: Row[] = []
    for (const [count, kb] of sizes) rows.push(...(await runSize(count, kb)))
    return rows
  },
}

async function runSize(count: number, kb: number): Promise<Row[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
  try {
    const packs = join(scratch, 'packs')
    mkdirSync(packs)
    const random = makeRandom(1, 'pack')
    const lines = Array.from({ length: 2000 }, (_, i) =>
      JSON.stringify({ id: `b${i}`, instruction: words(random, 60) }),
    )
    writeFileSync(join(packs, 'bench.jsonl'), `${lines.join('\n')}\n`)
    const spans = new Map<string, number>()
    writeFileSync('/proc/self/clear_refs', '5')
    const { parts, megabytes } = await runChain(scratch, count, kb, packs, spans)
    const peakMb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1000
    const rawSec = await rawCopy(scratch, parts)
    const label = `${count} traces of ${kb} KB`
    const chainSec = [...spans].reduce((sum, [step, sec]) => (step === 'made' ? sum : sum + sec), 0)
    const filterSec = spans.get('no-timeouts') ?? Number.NaN
    const steps = [...spans].filter(([step]) => step !== 'made')
    return [
      { name: `${label}: read and written by DuckDB alone`, value: megabytes / rawSec, unit: 'MB/s' },
      ...steps.map(([step, sec]) => ({ name: `${label}: ${step}`, value: megabytes / sec, unit: 'MB/s' })),
      {
        name: `${label}: filters, times DuckDB alone`,
        value: filterSec / rawSec,
        unit: 'x',
        goal: 'at most 2',
        ok: filterSec <= 2 * rawSec,
      },
      {
        name: `${label}: whole chain, times DuckDB alone`,
        value: chainSec / rawSec,
        unit: 'x',
        goal: 'at most 10',
        ok: chainSec <= 10 * rawSec,
      },
      { name: `${label}: peak memory`, value: peakMb, unit: 'MB', goal: `under ${goalMb}`, ok: peakMb < goalMb },
    ]
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function runChain(scratch: string, count: number, kb: number, packs: string, spans: Map<string, number>) {
  const own: Record<string, AnyStage> = { made: madeTraces(count, kb) }
  const recipe = await resolveRecipe(
    {
      name: 'bench',
      stages: [
        { use: 'made' },
        { use: 'filters/rollouts/min-turns', with: { least: 5 } },
        { use: 'filters/rollouts/max-tokens', with: { most: 1_000_000, of: 'output' } },
        { use: 'filters/rollouts/no-timeouts' },
        { use: 'filters/rollouts/exact-duplicates' },
        { use: 'filters/rollouts/near-duplicates' },
        { use: 'filters/rollouts/decontaminated', with: { packs, benchmarks: ['bench'] } },
        { use: 'exporters/sharegpt' },
      ],
    },
    async (use, options) => own[use] ?? makeAnyStage(use, options),
  )
  let since = performance.now()
  let step = ''
  const lap = () => {
    if (step !== '') spans.set(step, (performance.now() - since) / 1000)
    since = performance.now()
  }
  const onEvent = (event: RecipeEvent) => {
    if (event.kind !== 'step-start') return
    lap()
    step = event.stages.at(-1) ?? ''
  }
  const signal = new AbortController().signal
  const outcome = await runRecipe({ recipe, dir: join(scratch, 'run'), services: {} as StageServices, signal, onEvent })
  lap()
  const parts = outcome.steps[0]?.shards.map(({ part }) => part) ?? []
  return { parts, megabytes: (count * kb) / 1000 }
}

/** What the same rows cost DuckDB to read and write, and nothing else. */
async function rawCopy(scratch: string, parts: readonly string[]): Promise<number> {
  await using sql = await SqlDatabase.open({ memoryMb: 1500, threads: 2, tempDir: scratch })
  const start = performance.now()
  const files = `[${parts.map(sqlText).join(', ')}]`
  const out = sqlText(join(scratch, 'raw.parquet'))
  await sql.run(
    `COPY (SELECT * FROM read_parquet(${files})) TO ${out} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`,
  )
  return (performance.now() - start) / 1000
}

const vocabulary = Array.from({ length: 20_000 }, (_, i) => `w${i.toString(36)}`)

function words(random: ReturnType<typeof makeRandom>, count: number): string {
  return Array.from({ length: count }, () => random.pick(vocabulary)).join(' ')
}

/** Traces of random words: one in twenty is a copy, one in twenty nearly so, one in fifty timed out. */
function madeTraces(count: number, kb: number): AnyStage {
  return {
    takes: null,
    gives: 'trace',
    expensive: true,
    async *run() {
      for (let i = 0; i < count; i++) yield traceOf(i, kb)
    },
  }
}

function traceOf(i: number, kb: number): object {
  const seed = i % 20 < 2 && i >= 20 ? i - 20 : i
  const random = makeRandom(seed, 'trace')
  const turns = 10
  const talk = Array.from({ length: turns }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: words(random, Math.round((kb * 1000) / turns / 5)),
  }))
  if (i % 20 === 1) talk.push({ role: 'user', content: `one more line ${i}` })
  const timedOut = i % 50 === 7
  return {
    id: `t${i}`,
    conversations: talk,
    agent: 'terminus-2',
    model: 'made-up',
    model_provider: 'none',
    date: '2026-01-01T00:00:00Z',
    task: `task-${i % 5000}`,
    episode: 'episode-1',
    run_id: 'bench',
    trial_name: `trial-${i}`,
    result: timedOut ? 'AgentTimeoutError' : '1.0',
    trace_source: 'main',
    prompt_digest: String(i),
    task_digest: String(i % 5000),
    attempt: 1,
    reward: 1,
    end: 'scored',
    exit: timedOut ? 'time' : 'finished',
    turns: i % 30 === 0 ? 3 : 5,
    context_messages: 0,
    input_tokens: 5000,
    output_tokens: 2000,
    job: 'bench',
    source: 'bench',
    schema: 'trace/1',
    lineage: null,
    signals: {},
  }
}
