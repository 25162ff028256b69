import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyStage, StageServices } from '../src/core/stage.ts'
import { makePack } from '../src/formats/benchmark/pack.ts'
import { renderPack } from '../src/formats/benchmark/pack-file.ts'
import { SqlDatabase, sqlText } from '../src/lib/duckdb.ts'
import { makeRandom } from '../src/lib/random.ts'
import { makeAnyStage } from '../src/plugins/make-stage.ts'
import { resolveRecipe } from '../src/run/recipe/resolve.ts'
import { type RecipeEvent, runRecipe } from '../src/run/recipe/run-recipe.ts'
import type { Row } from './lib/rows.ts'

/** The sizes the chain runs at: number of traces, and kilobytes per trace. */
const sizes = (process.env.RECIPE_SIZES ?? '100000x20,1000000x2')
  .split(',')
  .map((size) => size.split('x').map(Number) as [number, number])
/**
 * The limit for the whole chain, as a multiple of DuckDB's time alone: apart from its text, a short row costs as much
 * as a long one.
 */
const mostTimes = (kb: number) => (kb < 20 ? 8 : 10)
const goalMb = 2000
/** The row counts for the one filter whose work could grow faster than its input, and kilobytes per row. */
const growth = { from: 100_000, to: 1_000_000, kb: 2, most: 1.2 }

/**
 * Filters, deduplicates, decontaminates, splits and exports synthetic traces in one run, compared with DuckDB's own
 * read and write of the same rows.
 */
export default {
  name: 'recipe',
  run: async (): Promise<Row[]> => {
    const rows: Row[] = []
    const perRow = new Map<number, number>()
    for (const [count, kb] of sizes) {
      const { rows: own, comparedSec } = await runSize(count, kb)
      rows.push(...own)
      if (kb === growth.kb) perRow.set(count, comparedSec / count)
    }
    return [...rows, ...(await growthRows(perRow))]
  },
}

/** The cost of a piece of work: wall time, and CPU time of all cores together. */
interface Span {
  readonly sec: number
  readonly cpuSec: number
}

/** Measures one piece of work after another. */
class Stopwatch {
  readonly spans = new Map<string, Span>()
  private since = performance.now()
  private cpu = process.cpuUsage()
  private step: string | null = null

  /** Ends the current measurement and starts the next; null ends the last. */
  next(step: string | null): void {
    const { user, system } = process.cpuUsage(this.cpu)
    const span = { sec: (performance.now() - this.since) / 1000, cpuSec: (user + system) / 1e6 }
    if (this.step !== null) {
      this.spans.set(this.step, span)
      process.stderr.write(`  ${this.step}: ${span.sec.toFixed(1)} s, CPU ${span.cpuSec.toFixed(1)} s\n`)
    }
    this.step = step
    this.since = performance.now()
    this.cpu = process.cpuUsage()
  }
}

/** How much more CPU time a row takes among a million than among a hundred thousand; 1 is linear. */
async function growthRows(perRow: Map<number, number>): Promise<Row[]> {
  const last = perRow.get(growth.to)
  if (last === undefined) return []
  const first = perRow.get(growth.from) ?? (await runSize(growth.from, growth.kb)).comparedSec / growth.from
  const value = last / first
  const name = `filters of texts: CPU per row at ${growth.to} traces of ${growth.kb} KB, times that at ${growth.from}`
  return [{ name, value, unit: 'x', goal: `at most ${growth.most}`, ok: value <= growth.most }]
}

interface Measured {
  readonly rows: Row[]
  /** The CPU time of the filters that read texts. */
  readonly comparedSec: number
}

async function runSize(count: number, kb: number): Promise<Measured> {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
  try {
    writeFileSync('/proc/self/clear_refs', '5')
    const watch = new Stopwatch()
    const parts = await runChain(scratch, count, kb, watch)
    const peakMb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1000
    watch.next('raw')
    await rawCopy(scratch, parts)
    watch.next(null)
    const comparedSec = comparing.reduce((sum, step) => sum + (watch.spans.get(step)?.cpuSec ?? 0), 0)
    return { rows: rowsOf({ count, kb }, watch.spans, peakMb), comparedSec }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function rowsOf(
  { count, kb }: { readonly count: number; readonly kb: number },
  spans: ReadonlyMap<string, Span>,
  peakMb: number,
): Row[] {
  const [label, megabytes] = [`${count} traces of ${kb} KB`, (count * kb) / 1000]
  const raw = spans.get('raw') ?? { sec: Number.NaN, cpuSec: Number.NaN }
  const steps = [...spans].filter(([step]) => step !== 'made' && step !== 'raw')
  const chain = steps.reduce((sum, [, span]) => ({ sec: sum.sec + span.sec, cpuSec: sum.cpuSec + span.cpuSec }), {
    sec: 0,
    cpuSec: 0,
  })
  const times = (name: string, value: number, most: number): Row => ({
    ...{ name: `${label}: ${name}`, value, unit: 'x', goal: `at most ${most}`, ok: value <= most },
  })
  const filters = spans.get(filtering) ?? raw
  return [
    { name: `${label}: read and written by DuckDB alone`, value: megabytes / raw.sec, unit: 'MB/s' },
    ...steps
      .filter(([step]) => !comparing.includes(step))
      .map(([step, { sec }]) => ({ name: `${label}: ${step}`, value: megabytes / sec, unit: 'MB/s' })),
    { name: `${label}: ${comparing.join(' + ')}`, value: megabytes / sumOf(spans, comparing), unit: 'MB/s' },
    { name: `${label}: whole chain`, value: chain.sec, unit: 's' },
    times('filters, times DuckDB alone', filters.sec / raw.sec, 2),
    times('whole chain, times DuckDB alone', chain.sec / raw.sec, mostTimes(kb)),
    { name: `${label}: whole chain, times DuckDB alone in CPU`, value: chain.cpuSec / raw.cpuSec, unit: 'x' },
    { name: `${label}: peak memory`, value: peakMb, unit: 'MB', goal: `under ${goalMb}`, ok: peakMb < goalMb },
  ]
}

const filtering = 'min-turns + max-tokens + no-timeouts'
/** They share a scan, so their individual times are unknown. */
const comparing: readonly string[] = ['exact-duplicates', 'near-duplicates', 'decontaminated']

function sumOf(spans: ReadonlyMap<string, Span>, steps: readonly string[]): number {
  return steps.reduce((sum, step) => sum + (spans.get(step)?.sec ?? 0), 0)
}

/** 2,000 instructions whose words no row may contain. */
function writePacks(dir: string): void {
  mkdirSync(dir)
  const random = makeRandom(1, 'pack')
  const texts = Array.from({ length: 2000 }, (_, i) => ({ id: `b${i}`, instruction: words(random, 60) }))
  const about = { title: 'Made up', source: 'this bench', licence: 'none' }
  // As a pack, which is read at once: texts would be hashed before every scan.
  writeFileSync(join(dir, 'bench.pack'), renderPack(makePack('bench', texts, 8), about))
}

/** Runs the chain; returns the files written by its first step. */
async function runChain(scratch: string, count: number, kb: number, watch: Stopwatch): Promise<readonly string[]> {
  const packs = join(scratch, 'packs')
  writePacks(packs)
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
        { use: 'exporters/sharegpt', with: { formats: ['parquet'], replay: 0 } },
      ],
    },
    async (use, options) => own[use] ?? makeAnyStage(use, options),
  )
  let step = ''
  const onEvent = (event: RecipeEvent) => {
    if (event.kind === 'step-start') step = event.stages.join(' + ')
    if (event.kind === 'step-start' || event.kind === 'recheck-end') watch.next(step)
    if (event.kind === 'recheck-start') watch.next('every filter once more')
  }
  const signal = new AbortController().signal
  const services = {} as StageServices
  const outcome = await runRecipe({ recipe, dir: join(scratch, 'run'), services, signal, onEvent })
  watch.next(null)
  return outcome.steps[0]?.shards.map(({ part }) => part) ?? []
}

/** What DuckDB alone takes to read and write the same rows. */
async function rawCopy(scratch: string, parts: readonly string[]): Promise<void> {
  await using sql = await SqlDatabase.open({ memoryMb: 1500, threads: 2, tempDir: scratch })
  const files = `[${parts.map(sqlText).join(', ')}]`
  const out = sqlText(join(scratch, 'raw.parquet'))
  await sql.run(
    `COPY (SELECT * FROM read_parquet(${files})) TO ${out} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`,
  )
}

/** Concatenated words of four characters, each followed by a space. */
const wordBytes = 5
const vocabulary = Buffer.from(
  Array.from({ length: 20_000 }, (_, i) => `w${i.toString(36).padStart(3, '0')} `).join(''),
  'latin1',
)

/** A text with this many words, assembled from bytes, since gigabytes are generated. */
function words(random: ReturnType<typeof makeRandom>, count: number): string {
  const bytes = Buffer.allocUnsafe(count * wordBytes)
  for (let at = 0; at < bytes.length; at += wordBytes) {
    const from = random.below(20_000) * wordBytes
    for (let k = 0; k < wordBytes; k++) bytes[at + k] = vocabulary[from + k] ?? 0
  }
  return bytes.toString('latin1')
}

/** Traces of random words: one in twenty is a copy, one in twenty a near-duplicate, one in fifty timed out. */
function madeTraces(count: number, kb: number): AnyStage {
  return {
    kind: 'source',
    gives: 'trace',
    expensive: true,
    async *rows() {
      for (let i = 0; i < count; i++) yield traceOf(i, kb)
    },
  }
}

function traceOf(i: number, kb: number): object {
  // Copies a row that is not itself a copy.
  const seed = i % 20 < 2 && i >= 20 ? i - 3 - (i % 20) : i
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
