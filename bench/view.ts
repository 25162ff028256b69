import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { TrialRecord } from '../src/core/trial.ts'
import { makeBigJob, makeJob, trialOf } from '../test/registry/jobs.ts'
import { findHarbor, startHarbor } from './lib/harbor-view.ts'
import type { Row } from './lib/rows.ts'
import { ask, startViewer, under, type Viewer } from './lib/viewer.ts'

const few = Number(process.env.VIEW_TRIALS ?? 10_000)
const many = 10 * few

/**
 * The page of jobs with ten and a hundred thousand trials: first content, next page, memory, and the size of the page
 * itself.
 */
export default {
  name: 'view',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    const cache = process.env.XDG_CACHE_HOME
    process.env.XDG_CACHE_HOME = join(scratch, 'cache')
    try {
      const at = (name: string) => join(scratch, name)
      await makeBigJob(join(at('packed'), 'big'), 'big', few, (i) => recordOf(i, few))
      await makeBigJob(join(at('huge'), 'big'), 'big', many, (i) => recordOf(i, many))
      await makeLooseJob(join(at('loose'), 'big'))
      return [
        ...(await measure(`${few} trials, packed`, at('packed'), few)),
        ...(await measure(`${few} trials, a directory each`, at('loose'), few)),
        ...(await beside(at('loose'), cache)),
        ...(await measure(`${many} trials, packed`, at('huge'), many)),
        bundleRow(),
      ]
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

interface Tasks {
  readonly items: readonly unknown[]
  readonly total: number
  readonly complete: boolean
}

async function measure(label: string, dir: string, trials: number): Promise<Row[]> {
  const viewer = await startViewer(dir)
  const api = `${viewer.origin}/api/jobs/big`
  try {
    // A job's page requests these first.
    const [, tasks] = await Promise.all([ask(api), ask<Tasks>(`${api}/tasks?limit=100`)])
    const firstMs = performance.now() - viewer.startedMs
    if (tasks.body.items.length === 0) throw new Error(`${label}: the first answer has no rows`)
    await untilRead(api, trials)
    const next = await ask<Tasks>(`${api}/tasks?limit=100&offset=100`)
    const list = await ask<Tasks>(`${api}/trials?limit=100&offset=${trials / 2}`)
    const search = await ask<Tasks>(`${api}/trials?limit=100&q=00077`)
    if (next.body.items.length !== 100 || list.body.items.length !== 100 || search.body.total === 0)
      throw new Error(`${label}: a page has too few rows`)
    return [
      under(`${label}: first rows, from the start of the program`, firstMs, 'ms', 1000),
      { name: `${label}: of that, the answer`, value: tasks.ms, unit: 'ms' },
      under(`${label}: the next 100 tasks`, next.ms, 'ms', 150),
      under(`${label}: 100 trials from the middle`, list.ms, 'ms', 150),
      under(`${label}: search over all trials`, search.ms, 'ms', 500),
      memoryRow(label, viewer),
      { name: `${label}: peak memory`, value: viewer.memoryMb('VmHWM'), unit: 'MB' },
    ]
  } finally {
    await viewer.stop()
  }
}

function memoryRow(label: string, viewer: Viewer): Row {
  return under(`${label}: memory of the server`, viewer.memoryMb('VmRSS'), 'MB', 300)
}

async function untilRead(api: string, trials: number): Promise<void> {
  for (;;) {
    const { body } = await ask<{ indexed: number; complete: boolean }>(api)
    if (body.complete && body.indexed === trials) return
    if (body.complete) throw new Error(`${body.indexed} trials were read, expected ${trials}`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** The same for `harbor view`, if installed. */
async function beside(dir: string, cache: string | undefined): Promise<Row[]> {
  const program = findHarbor(cache)
  if (program === null) {
    process.stderr.write('  skipped: harbor view, because no program harbor is on the path or named by HARBOR\n')
    return []
  }
  const label = `${few} trials, a directory each: harbor view`
  const viewer = await startHarbor(program, dir)
  const api = `${viewer.origin}/api/jobs/big`
  try {
    const [, tasks] = await Promise.all([ask(api), ask<Tasks>(`${api}/tasks?page_size=100`)])
    const firstMs = performance.now() - viewer.startedMs
    if (tasks.body.items.length === 0) throw new Error(`${label}: the first answer has no rows`)
    const next = await ask<Tasks>(`${api}/tasks?page_size=100&page=2`)
    if (next.body.items.length !== 100) throw new Error(`${label}: a page has too few rows`)
    return [
      { name: `${label}, first rows`, value: firstMs, unit: 'ms' },
      { name: `${label}, of that, the answer`, value: tasks.ms, unit: 'ms' },
      { name: `${label}, the next 100 tasks`, value: next.ms, unit: 'ms' },
      { name: `${label}, memory of the server`, value: viewer.memoryMb('VmRSS'), unit: 'MB' },
    ]
  } finally {
    await viewer.stop()
  }
}

/** Everything the page loads, compressed, without the terminal for recordings. */
function bundleRow(): Row {
  const files = readdirSync('dist/web', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/^screen-.*\.js$/.test(entry.name))
    .map((entry) => gzipSync(readFileSync(join(entry.parentPath, entry.name))).length)
  const kb = files.reduce((sum, size) => sum + size, 0) / 1000
  return under('the page, compressed, without the player', kb, 'kB', 400)
}

/** Ten attempts at each task. */
function recordOf(i: number, count: number): TrialRecord {
  const tasks = count / 10
  const usage = { inputTokens: 9000 + i, cacheTokens: 0, outputTokens: 700, costUsd: 0.01 }
  return trialOf({
    ...{ task: `task-${String(i % tasks).padStart(5, '0')}`, attempt: Math.floor(i / tasks) },
    ...{ reward: i % 3 === 0 ? 1 : 0, model: 'hosted_vllm/org/student', over: { usage } },
  })
}

/** Copies of one trial that a store wrote, each with its own task and name. */
async function makeLooseJob(dir: string): Promise<void> {
  const first = recordOf(0, few)
  await makeJob(dir, { id: '6856a1de-0000-4000-8000-000000000010', records: [first], planned: few })
  const files = readdirSync(join(dir, first.name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'utf8')] as const)
  for (let i = 1; i < few; i++) {
    const { name, task, attempt } = recordOf(i, few)
    const to = join(dir, name)
    cpSync(join(dir, first.name), to, { recursive: true })
    for (const [file, text] of files) {
      const own = text.replaceAll(first.name, name).replaceAll(first.task.name, task.name)
      writeFileSync(join(to, file), own.replaceAll(/"attempt": \d+/g, `"attempt": ${attempt}`))
    }
  }
}
