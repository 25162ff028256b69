import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RawRow } from '../src/core/row.ts'
import type { NewDraft } from '../src/run/pipeline/pipeline.ts'
import { makeTasks } from '../src/run/pipeline/task-stages.ts'
import type { MadeTasks } from '../src/run/recipe/run-rows.ts'
import rowTemplate from '../src/stages/makers/row-template/index.ts'
import { openTaskSet } from '../src/store/task-set.ts'

const rows = 100_000
const goalPerSec = 500

/** Row templates at 100,000 rows: drafts alone, then tasks on disk with the journal, then the same command again. */
export default {
  name: 'generate',
  async run() {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-bench-'))
    try {
      const drafts = await timed(async () => {
        let count = 0
        for await (const _ of stage().run(source(), context(dir))) count++
        return count
      })
      const first = await timed(() => makeAll(dir))
      const again = await timed(() => makeAll(dir))
      const rate = rows / first.sec
      return [
        { name: `row templates, ${rows} rows, in memory`, value: rows / drafts.sec, unit: 'rows/s' },
        {
          name: `row templates, ${rows} rows, tasks on disk`,
          value: rate,
          unit: 'rows/s',
          goal: goalPerSec,
          ok: rate >= goalPerSec,
        },
        { name: 'the same again, all rows finished before', value: rows / again.sec, unit: 'rows/s' },
        { name: 'tasks on disk', value: first.value.tasks, unit: 'tasks' },
        { name: 'peak memory', value: process.resourceUsage().maxRSS / 1024, unit: 'MiB' },
      ]
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
}

function stage() {
  const options = {
    instruction: 'How much is {{a}} plus {{b}}?',
    answer: { field: 'sum', check: 'number' },
    pipeline: 'sums',
  }
  return rowTemplate.make(rowTemplate.options.parse(options), { env: {}, stateDir: '/nonexistent' })
}

async function* source(): AsyncGenerator<RawRow, void, void> {
  for (let i = 0; i < rows; i++)
    yield { id: String(i), source: 'sums', fields: { a: String(i), b: String(i * 7), sum: String(i * 8) } }
}

async function makeAll(dir: string): Promise<MadeTasks> {
  const set = await openTaskSet(join(dir, 'out'), { pipeline: 'sums' })
  const maker = stage()
  const signal = new AbortController().signal
  const make = (row: RawRow) => maker.run(one(row), context(dir)) as AsyncIterable<NewDraft>
  const shop = { set, seed: 1, limit: null, version: 'v', finish: same, prove: null, signal, onProgress: () => {} }
  try {
    return await makeTasks({ pipeline: 'sums', strategy: 'row-template', rows: source(), make }, shop)
  } finally {
    await set.close()
  }
}

function context(workDir: string) {
  const signal = new AbortController().signal
  return { seed: 1, signal, workDir, log: () => {} }
}

const same = <T>(draft: T): T => draft

async function* one<T>(row: T): AsyncGenerator<T, void, void> {
  yield row
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; sec: number }> {
  const start = performance.now()
  const value = await work()
  return { value, sec: (performance.now() - start) / 1000 }
}
