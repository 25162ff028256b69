import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type LargeJob, makeLargeJob } from './lib/large-job.ts'
import { percentile, type Row } from './lib/rows.ts'

const trials = Number(process.env.LARGE_JOB_TRIALS ?? 20_000)

/**
 * Commands on a job of twenty thousand finished oracle trials, in both layouts, compared with one pass of readdir and
 * stat over its records.
 */
export default {
  name: 'large-jobs',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const job = await makeLargeJob(scratch, trials)
      const loose = { ...measureAll(job, join(scratch, 'loose')), pass: passOver(job.dir) }
      const pack = ask(['jobs', 'pack', job.dir])
      const packed = measureAll(job, join(scratch, 'packed'))
      return [...rowsOf(loose, packed), ...packRows(pack)]
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

interface Cost {
  readonly sec: number
  readonly cpuSec: number
}

type Measured = Readonly<Record<keyof typeof commands, Cost>>

/** Commands that read a job. The first two build the indexes that the others use. */
const commands = {
  first: ({ dir }: LargeJob) => ['jobs', 'show', dir],
  firstRerun: ({ run }: LargeJob) => [...run, '-q'],
  rerun: ({ run }: LargeJob) => [...run, '-q'],
  show: ({ dir }: LargeJob) => ['jobs', 'show', dir],
  list: ({ jobsDir }: LargeJob) => ['jobs', 'list', jobsDir],
  stats: ({ dir }: LargeJob) => ['traces', 'stats', '-p', dir],
  export: ({ dir }: LargeJob, out: string) => ['traces', 'export', '-p', dir, '--out', out],
} as const

const names: Readonly<Record<keyof typeof commands, string>> = {
  first: 'jobs show, the first time',
  firstRerun: 'a rerun when all is finished, the first time',
  rerun: 'a rerun when all is finished',
  show: 'jobs show',
  list: 'jobs list',
  stats: 'traces stats',
  export: 'traces export',
}

/** Time limits for the commands, in seconds. */
const goals: Readonly<Partial<Record<keyof typeof commands, number>>> = {
  rerun: 1,
  show: 1,
  list: 1,
  stats: 27,
  export: 28,
}

/** Runs those that build an index once, the others three times, and takes the median. */
function measureAll(job: LargeJob, out: string): Measured {
  // Flushes earlier writes: otherwise a command that syncs one small file waits for all of them.
  spawnSync('sync')
  const costs = Object.entries(commands).map(([name, words]) => {
    const rounds = name.startsWith('first') ? 1 : 3
    const asked = Array.from({ length: rounds }, (_, round) => ask(words(job, `${out}-${round}`)))
    const middle = (of: keyof Cost) =>
      percentile(
        asked.map((cost) => cost[of]),
        0.5,
      )
    return [name, { sec: middle('sec'), cpuSec: middle('cpuSec') }] as const
  })
  return Object.fromEntries(costs) as Measured
}

/** Wall time and CPU time of one command line. */
function ask(words: readonly string[]): Cost {
  const line = [process.execPath, resolve('bin/ot-agent.js'), ...words]
  const timed = 'TIMEFORMAT="%R %U %S"; time "$@" > /dev/null 2> /dev/null'
  const { stderr, status } = spawnSync('bash', ['-c', timed, 'bash', ...line], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${words.slice(0, 2).join(' ')} ended with ${status}`)
  const [sec = Number.NaN, user = Number.NaN, system = Number.NaN] = stderr.trim().split(' ').map(Number)
  process.stderr.write(`  ${words.slice(0, 2).join(' ')}: ${sec} s, ${(user + system).toFixed(2)} s of CPU\n`)
  return { sec, cpuSec: user + system }
}

/** The minimum work of a command without an index: look at both files of every trial. */
function passOver(dir: string): Cost {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  for (const { name } of readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    statSync(join(dir, name, 'result.json'))
    statSync(join(dir, name, 'record.json'))
  }
  const { user, system } = process.cpuUsage(cpu)
  return { sec: (performance.now() - start) / 1000, cpuSec: (user + system) / 1e6 }
}

function rowsOf(loose: Measured & { readonly pass: Cost }, packed: Measured): Row[] {
  const rows: Row[] = [{ name: `${trials} trials: readdir and stat alone, CPU`, value: loose.pass.cpuSec, unit: 's' }]
  for (const key of Object.keys(commands) as (keyof typeof commands)[]) {
    const goal = goals[key]
    const judged = (sec: number) => (goal === undefined ? {} : { goal: `under ${goal}`, ok: sec < goal })
    rows.push(
      { name: names[key], value: loose[key].sec, unit: 's', ...judged(loose[key].sec) },
      { name: `${names[key]}, CPU`, value: loose[key].cpuSec, unit: 's' },
      { name: `${names[key]}, packed`, value: packed[key].sec, unit: 's', ...judged(packed[key].sec) },
      { name: `${names[key]}, packed, CPU`, value: packed[key].cpuSec, unit: 's' },
    )
  }
  for (const key of ['stats', 'export'] as const) {
    const times = packed[key].cpuSec / loose[key].cpuSec
    rows.push({
      name: `${names[key]}, packed against loose, CPU`,
      value: times,
      unit: 'x',
      goal: 'at most 1',
      ok: times <= 1,
    })
  }
  const times = loose.show.cpuSec / loose.pass.cpuSec
  return [...rows, { name: 'jobs show, times readdir and stat, CPU', value: times, unit: 'x' }]
}

function packRows({ sec, cpuSec }: Cost): Row[] {
  return [
    { name: 'jobs pack', value: sec, unit: 's', goal: 'under 60', ok: sec < 60 },
    { name: 'jobs pack, CPU', value: cpuSec, unit: 's' },
  ]
}
