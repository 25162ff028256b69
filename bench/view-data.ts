import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { SqlDatabase } from '../src/lib/duckdb.ts'
import { makeRandom } from '../src/lib/random.ts'
import { writeRows } from '../src/run/recipe/write-rows.ts'
import { someTrace } from '../test/recipe-traces.ts'
import type { Row } from './lib/rows.ts'

const count = Number(process.env.VIEW_TRACES ?? 100_000)
const kb = Number(process.env.VIEW_TRACE_KB ?? 20)
const perFile = 5000

/** `ot-agent view` on a dataset of a hundred thousand made-up traces: how soon there is something to see, search, and memory. */
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

async function measure(dataset: string): Promise<Row[]> {
  const started = performance.now()
  const child = spawn(process.execPath, ['bin/ot-agent.js', 'view', dataset, '--no-open', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const origin = await originOf(child)
    const rows = `${origin}/api/data/traces/rows`
    const label = `${count} traces of ${kb} KB`
    const timed = async (url: string) => {
      const since = performance.now()
      const body = await (await fetch(url)).json()
      return { ms: performance.now() - since, body: body as { total: number; complete: boolean; indexed: number } }
    }
    const goal = (name: string, ms: number, most: number): Row => ({
      ...{ name: `${label}: ${name}`, value: ms, unit: 'ms', goal: `under ${most}`, ok: ms < most },
    })
    const first = await timed(`${rows}?limit=100`)
    const sinceStart = performance.now() - started
    const next = await timed(`${rows}?limit=100&offset=100`)
    for (;;) {
      const { body } = await timed(`${rows}?limit=1`)
      process.stderr.write(`  ${body.indexed} read\n`)
      if (body.complete) break
      await new Promise((resolve) => setTimeout(resolve, 2000))
    }
    const indexedSec = (performance.now() - started) / 1000
    const searches = ['rare50456', 'the', 'w12 w345a', 'file error w100']
    const found: number[] = []
    for (const q of searches) found.push((await timed(`${rows}?limit=100&q=${encodeURIComponent(q)}`)).ms)
    const middle = await timed(`${rows}?limit=100&offset=${count / 2}`)
    const row = await timed(`${rows}/${Math.floor(count / 2)}`)
    const similar = await timed(`${rows}/${Math.floor(count / 2)}/similar`)
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    const mb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1000
    return [
      goal('first rows, from the start of the program', sinceStart, 1000),
      { name: `${label}: of that, the answer`, value: first.ms, unit: 'ms' },
      goal('the next 100 rows', next.ms, 150),
      goal('100 rows from the middle', middle.ms, 150),
      { name: `${label}: one row from the middle`, value: row.ms, unit: 'ms' },
      { name: `${label}: rows like it`, value: similar.ms, unit: 'ms' },
      goal('slowest of 4 searches', Math.max(...found), 500),
      { name: `${label}: read and indexed`, value: indexedSec, unit: 's' },
      {
        name: `${label}: memory of the server`,
        value: mb('VmRSS'),
        unit: 'MB',
        goal: 'under 300',
        ok: mb('VmRSS') < 300,
      },
      { name: `${label}: peak memory`, value: mb('VmHWM'), unit: 'MB' },
    ]
  } finally {
    child.kill()
  }
}

async function originOf(child: ReturnType<typeof spawn>): Promise<string> {
  if (!child.stdout) throw new Error('expected a pipe')
  let said = ''
  for await (const line of createInterface({ input: child.stdout })) {
    said += line
    const [, origin] = /"url": "(http:\/\/[^/]+)/.exec(said) ?? []
    if (origin) return origin
  }
  throw new Error(`the viewer ended: ${said}`)
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

/** Paragraphs in which some words are common and most are rare, as in any text. Made once: gigabytes are put together from them. */
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

/** One trace in a thousand has a word of its own. */
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
