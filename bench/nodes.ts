import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findProgram } from '../src/lib/programs.ts'
import { passingSolve, writeTask } from '../test/fakes/tasks.ts'
import { type SlurmCluster, startSlurm, until } from '../test/slurm-cluster.ts'
import { countRows, oracleOver, program, startHeldJobs, trialsIn } from '../test/slurm-launches.ts'
import { type Cost, costHook, costsIn, sumOf } from './lib/process-costs.ts'
import type { Row } from './lib/rows.ts'
import { recipeText, sourceText } from './lib/shared-recipe.ts'
import { treeOf } from './lib/tree-size.ts'

const nodes = 8
const trials = Number(process.env.NODES_TRIALS ?? 320)
const recipeRows = Number(process.env.NODES_ROWS ?? 60_000)
const plannedTasks = 3000
/** Simulates waiting for a model: without it, eight nodes on one machine would only share its CPUs. */
const waitSec = 1

/**
 * One job and one recipe on eight Slurm nodes of this machine, each compared with one node. docs/scale.md draws the
 * conclusions.
 */
export default {
  name: 'nodes',
  run: async (): Promise<Row[]> => {
    const missing = ['slurmctld', 'slurmd', 'munged', 'bwrap', 'ss'].filter((each) => findProgram(each) === null)
    if (missing.length > 0 || process.getuid?.() !== 0) {
      process.stderr.write(`  skipped: needs root and ${missing.join(', ') || 'the right to start Slurm'}\n`)
      return []
    }
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    let slurm: SlurmCluster | undefined
    try {
      slurm = await startSlurm(join(scratch, 'slurm'), nodes)
      const room = { scratch, slurm, costs: join(scratch, 'costs') }
      mkdirSync(room.costs)
      writeFileSync(join(scratch, 'hook.mjs'), costHook)
      writeFileSync(join(scratch, 'loop.yaml'), clusterFacts(scratch))
      return [...(await jobRows(room)), ...(await recipeRowsOf(room))]
    } finally {
      await slurm?.stop()
      if (process.env.NODES_KEEP) process.stderr.write(`  kept ${scratch}\n`)
      else rmSync(scratch, { recursive: true, force: true })
    }
  },
}

interface Room {
  readonly scratch: string
  readonly slurm: SlurmCluster
  /** Each of our processes leaves a file here with its cost. */
  readonly costs: string
}

function clusterFacts(scratch: string): string {
  return `name: loop
summary: ${nodes} nodes on loopback
nodes: ${nodes}
gpus_per_node: 0
gpu_request: none
cpus_per_node: 8
memory_per_node_gb: 3
internet_on_compute_nodes: true
time_limit: '00:20:00'
partition: main
environment: { NODE_OPTIONS: '--import ${join(scratch, 'hook.mjs')}', OT_BENCH_COSTS: '${join(scratch, 'costs')}' }
`
}

async function jobRows(room: Room): Promise<Row[]> {
  const tasks = join(room.scratch, 'tasks')
  for (let i = 0; i < trials; i++)
    await writeTask(tasks, `task-${String(i).padStart(5, '0')}`, { solve: `sleep ${waitSec}\n${passingSolve}` })
  const few = join(room.scratch, 'few')
  const each = Math.ceil(trials / nodes)
  for (const name of readdirSync(tasks).slice(0, each)) cpSync(join(tasks, name), join(few, name), { recursive: true })
  const words = (from: string) => [...oracleOver(from), '--chunk-size', String(each), '--array-max', String(nodes)]
  const one = await launched(room, 'one', words(few))
  const all = await launched(room, 'eight', words(tasks))
  const killed = await launched(room, 'killed', words(tasks), true)
  const [oneTraces, allTraces] = [spanOf(one, 'traces'), spanOf(all, 'traces')]
  const rate = { one: each / oneTraces.sec, all: trials / allTraces.sec }
  const tree = treeOf(join(all.dir, 'trace_jobs'))
  const marks = treeOf(join(all.dir, 'launches'))
  const found = trialsIn(join(killed.dir, 'trace_jobs'))
  return [
    { name: `one node: trials of ${waitSec} s per second, one at once`, value: rate.one, unit: '/s' },
    { name: `${nodes} nodes: the same`, value: rate.all, unit: '/s' },
    { name: `${nodes} nodes, times one`, value: rate.all / rate.one, unit: 'x', goal: `${nodes}` },
    { name: 'one node: CPU of our processes per trial', value: (oneTraces.cpuSec * 1000) / each, unit: 'ms' },
    { name: `${nodes} nodes: CPU of our processes per trial`, value: (allTraces.cpuSec * 1000) / trials, unit: 'ms' },
    { name: 'planning a share: CPU for each task of the job', value: await planMs(room), unit: 'ms' },
    { name: 'inodes per trial', value: tree.inodes / trials, unit: '' },
    { name: 'of them files', value: tree.files / trials, unit: '' },
    { name: 'bytes of files per trial', value: tree.bytes / trials, unit: 'B' },
    { name: 'disk per trial', value: tree.blocks / trials, unit: 'B' },
    { name: 'entries of the largest directory', value: tree.mostEntries, unit: '' },
    { name: 'files of the launch itself', value: marks.files, unit: '' },
    { name: `join of ${nodes} parts, CPU`, value: spanOf(all, 'join').cpuSec, unit: 's' },
    { name: 'launch status, p50', value: all.statusSec, unit: 's' },
    {
      name: 'one node lost: trials that are there',
      value: found.length,
      unit: '',
      goal: String(trials),
      ok: found.length === trials,
    },
    {
      name: 'one node lost: trials that are there twice',
      value: found.length - new Set(found.map(taskOf)).size,
      unit: '',
      goal: '0',
      ok: found.length === new Set(found.map(taskOf)).size,
    },
    { name: 'one node lost: longer by', value: killed.sec - all.sec, unit: 's' },
  ]
}

/** The task name in the path of a trial's record. */
function taskOf(record: string): string {
  return record.replace(/__[^/]*\/record\.json$/, '').replace(/^.*\//, '')
}

/** CPU time that one of a thousand processes needs per task to plan its share of the job, not counting its start. */
async function planMs(room: Room): Promise<number> {
  const [few, many] = [join(room.scratch, 'plan-few'), join(room.scratch, 'plan-many')]
  await writeTask(few, 'task-0')
  for (let i = 0; i < plannedTasks; i++) await writeTask(many, `task-${i}`)
  const cpuSec = (tasks: string) => {
    const words = ['generate', 'data/nl2bash/generate.ts', '--stage', 'traces', '--tasks-input', tasks, '--no-upload']
    const share = [
      '--trace-share',
      '0/1000',
      '--trace-agent-name',
      'nop',
      '--trace-eval-only',
      '--disable-verification',
    ]
    const before = new Set(costsIn(room.costs).map(({ fromMs }) => fromMs))
    ot(room, ...words, '--output-dir', `${tasks}-out`, ...share)
    return sumOf(costsIn(room.costs).filter(({ fromMs }) => !before.has(fromMs))).cpuSec
  }
  return ((cpuSec(many) - cpuSec(few)) * 1000) / plannedTasks
}

interface Launched {
  readonly dir: string
  readonly sec: number
  readonly costs: readonly Cost[]
  readonly statusSec: number
}

/** Runs a launch to its end; with `kill`, it loses a node on the way whose processes do not notice. */
async function launched(room: Room, name: string, words: readonly string[], kill = false): Promise<Launched> {
  const dir = join(room.scratch, name)
  const before = costsIn(room.costs).length
  const start = performance.now()
  const id = ot(room, 'launch', '--cluster', join(room.scratch, 'loop.yaml'), '--experiments-dir', dir, ...words).trim()
  if (kill) {
    await until('a third of the trials', () => trialsIn(join(dir, 'trace_jobs')).length > trials / 3, 300)
    await room.slurm.killNode('n2')
  }
  const statusSec: number[] = []
  await until(
    'the end of the launch',
    () => {
      startHeldJobs(room.slurm)
      const from = performance.now()
      const status = JSON.parse(ot(room, 'launch', 'status', id, '--experiments-dir', dir, '--json'))
      statusSec.push((performance.now() - from) / 1000)
      const failed = status.jobs.find(({ state }: { state: string }) => state === 'failed' || state === 'cancelled')
      if (failed) process.stderr.write(`  ${name}: ${JSON.stringify(failed)}\n`)
      return status.over
    },
    900,
  )
  const sec = (performance.now() - start) / 1000
  const costs = costsIn(room.costs).slice(before)
  process.stderr.write(
    `  ${name}: ${sec.toFixed(1)} s, CPU ${sumOf(costs).cpuSec.toFixed(1)} s in ${costs.length} processes\n`,
  )
  return { dir, sec, costs, statusSec: statusSec.sort((a, b) => a - b)[statusSec.length >> 1] ?? Number.NaN }
}

/** From the first start to the last end of the processes of a kind, and their CPU time. */
function spanOf({ costs }: Launched, kind: 'traces' | 'join' | 'recipe') {
  const marks = { traces: '--stage traces', join: 'traces export', recipe: 'recipe run' }
  return sumOf(costs.filter(({ words }) => words.includes(marks[kind])))
}

async function recipeRowsOf(room: Room): Promise<Row[]> {
  writeFileSync(join(room.scratch, 'made.ts'), sourceText)
  writeFileSync(join(room.scratch, 'recipe.ts'), recipeText)
  const words = (shards: number) => [
    ...['--job-type', 'recipe', '--recipe', join(room.scratch, 'recipe.ts'), '--shards', String(shards)],
    ...[
      '--array-max',
      String(nodes),
      '--recipe-extra-args',
      `--set made.count=${recipeRows} --shard-rows ${recipeRows / 40}`,
    ],
  ]
  const one = await launched(room, 'recipe-one', words(1))
  const all = await launched(room, 'recipe-eight', words(nodes))
  const [oneSpan, allSpan] = [spanOf(one, 'recipe'), spanOf(all, 'recipe')]
  const { rows, distinct } = await countRows(join(all.dir, 'outputs/recipe'), 'made', 'id')
  const tree = treeOf(join(all.dir, 'outputs/recipe'))
  return [
    {
      name: 'recipe: rows of its source that are there',
      value: rows,
      unit: '',
      goal: String(recipeRows),
      ok: rows === recipeRows && distinct === recipeRows,
    },
    { name: 'recipe on one node: CPU for 1,000 rows', value: (oneSpan.cpuSec * 1e6) / recipeRows, unit: 'ms' },
    { name: `recipe on ${nodes} nodes: CPU for 1,000 rows`, value: (allSpan.cpuSec * 1e6) / recipeRows, unit: 'ms' },
    { name: `recipe on ${nodes} nodes: CPU, times one node`, value: allSpan.cpuSec / oneSpan.cpuSec, unit: 'x' },
    {
      name: `recipe on ${nodes} nodes: files read by them, times the rows on disk`,
      value: allSpan.readBytes / tree.bytes,
      unit: 'x',
    },
    { name: 'recipe: inodes', value: tree.inodes, unit: '' },
    {
      name: 'recipe: memory of the largest process',
      value: Math.max(...all.costs.map(({ rssMb }) => rssMb)),
      unit: 'MB',
    },
  ]
}

function ot({ slurm, scratch, costs }: Room, ...words: string[]): string {
  const env = { ...slurm.env, OT_BENCH_COSTS: costs, NODE_OPTIONS: `--import ${join(scratch, 'hook.mjs')}` }
  const done = spawnSync(process.execPath, [program, ...words], { env, encoding: 'utf8', cwd: resolve('.') })
  if (done.status !== 0) throw new Error(`ot-agent ${words.join(' ')}: ${done.stderr.slice(-2000)}`)
  return done.stdout
}
