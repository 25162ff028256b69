import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqlDatabase } from '../src/lib/duckdb.ts'
import { makeRandom } from '../src/lib/random.ts'
import { writeRows } from '../src/run/recipe/write-rows.ts'
import { someTrace } from '../test/recipe-traces.ts'
import type { Row } from './lib/rows.ts'
import { ask, startViewer, under } from './lib/viewer.ts'

const count = Number(process.env.VIEW_TRACES ?? 100_000)
const kb = Number(process.env.VIEW_TRACE_KB ?? 20)
const perFile = 5000

/** `ot-agent view` on a dataset of a hundred thousand synthetic traces: time to first content, search, and memory. */
export default {
  name: 'view-data',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const dataset = join(scratch, 'traces')
      mkdirSync(dataset)
      await writeTraces(dataset)
      return await measure(dataset)
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

interface Rows {
  readonly items: readonly unknown[]
  readonly complete: boolean
  readonly indexed: number
}

async function measure(dataset: string): Promise<Row[]> {
  const viewer = await startViewer(dataset)
  try {
    const rows = `${viewer.origin}/api/data/traces/rows`
    const label = `${count} traces of ${kb} KB`
    const first = await ask<Rows>(`${rows}?limit=100`)
    const firstMs = performance.now() - viewer.startedMs
    if (first.body.items.length === 0) throw new Error('the first answer has no rows')
    const next = await ask<Rows>(`${rows}?limit=100&offset=100`)
    await untilIndexed(rows)
    const indexedSec = (performance.now() - viewer.startedMs) / 1000
    const searches = ['rare50456', 'the', 'w12 w345a', 'file error w100']
    const found: number[] = []
    for (const q of searches) found.push((await ask(`${rows}?limit=100&q=${encodeURIComponent(q)}`)).ms)
    const middle = await ask<Rows>(`${rows}?limit=100&offset=${count / 2}`)
    if (middle.body.items.length !== 100) throw new Error('a page from the middle has too few rows')
    const row = await ask(`${rows}/${Math.floor(count / 2)}`)
    const similar = await ask(`${rows}/${Math.floor(count / 2)}/similar`)
    return [
      under(`${label}: first rows, from the start of the program`, firstMs, 'ms', 1000),
      { name: `${label}: of that, the answer`, value: first.ms, unit: 'ms' },
      under(`${label}: the next 100 rows`, next.ms, 'ms', 150),
      under(`${label}: 100 rows from the middle`, middle.ms, 'ms', 150),
      { name: `${label}: one row from the middle`, value: row.ms, unit: 'ms' },
      { name: `${label}: rows like it`, value: similar.ms, unit: 'ms' },
      under(`${label}: slowest of 4 searches`, Math.max(...found), 'ms', 500),
      { name: `${label}: read and indexed`, value: indexedSec, unit: 's' },
      under(`${label}: memory of the server`, viewer.memoryMb('VmRSS'), 'MB', 300),
      { name: `${label}: peak memory`, value: viewer.memoryMb('VmHWM'), unit: 'MB' },
    ]
  } finally {
    await viewer.stop()
  }
}

async function untilIndexed(rows: string): Promise<void> {
  for (;;) {
    const { body } = await ask<Rows>(`${rows}?limit=1`)
    process.stderr.write(`  ${body.indexed} read\n`)
    if (body.complete) return
    await new Promise((resolve) => setTimeout(resolve, 2000))
  }
}

async function writeTraces(dir: string): Promise<void> {
  await using sql = await SqlDatabase.open({ memoryMb: 1000, threads: 2, tempDir: join(dir, '..', 'tmp') })
  for (let first = 0; first < count; first += perFile) {
    const rows = async function* () {
      for (let i = first; i < Math.min(count, first + perFile); i++) yield traceOf(i)
    }
    await writeRows(sql, 'trace', rows(), join(dir, `part-${String(first).padStart(7, '0')}.parquet`))
    process.stderr.write(`  ${first + perFile} written\n`)
  }
}

/**
 * Paragraphs in which some words are common and most are rare, as in any text. Built once: gigabytes are assembled from
 * them.
 */
const paragraphs = makeParagraphs()

function makeParagraphs(): readonly string[] {
  const random = makeRandom(1, 'view')
  const words = [
    'the',
    'file',
    'error',
    ...Array.from({ length: 50_000 }, (_, i) => `w${i}${'abcdef'.slice(0, i % 4)}`),
  ]
  const word = () => words[Math.floor(words.length * (random.below(1 << 20) / (1 << 20)) ** 4)]
  return Array.from({ length: 4000 }, () => Array.from({ length: 140 }, word).join(' '))
}

/** One trace in a thousand has a unique word. */
function traceOf(i: number): object {
  const random = makeRandom(i, 'view')
  const turns = 4 + random.below(12)
  const each = Math.max(1, Math.round((kb * 1000) / 900 / (2 * turns)))
  const said = () => Array.from({ length: each }, () => paragraphs[random.below(paragraphs.length)]).join('\n')
  return someTrace({
    id: `t${i}`,
    task: `task-${i % 5000}`,
    source: `source-${i % 7}`,
    result: i % 3 === 0 ? '0.0' : '1.0',
    turns,
    conversations: Array.from({ length: 2 * turns }, (_, turn) => ({
      role: turn % 2 === 0 ? 'user' : 'assistant',
      content: turn === 1 && i % 1000 === 456 ? `rare${i} ${said()}` : said(),
    })),
  })
}
