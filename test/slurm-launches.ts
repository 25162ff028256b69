import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SqlDatabase } from '../src/lib/duckdb.ts'
import { passingSolve, writeTask } from './fakes/tasks.ts'
import type { SlurmCluster } from './slurm-cluster.ts'

/** Our own built program. */
export const program = resolve('bin/ot-agent.js')

/** A cluster of four nodes without GPUs, for launches. */
export const facts = `name: loop
summary: Four nodes on loopback
nodes: 4
gpus_per_node: 0
gpu_request: none
cpus_per_node: 8
memory_per_node_gb: 3
internet_on_compute_nodes: true
time_limit: '00:10:00'
partition: main
`

/** The same with one GPU per node and no internet, and stand-ins for the training programs. */
export function trainingFacts(hubUrl: string, ray: string): string {
  return `${facts.replace('gpus_per_node: 0', 'gpus_per_node: 1').replace('nodes: true', 'nodes: false')}
activate: ['export PATH=${resolve('test/fakes/stand-ins')}:$PATH']
environment: { HF_ENDPOINT: '${hubUrl}', STAND_IN_RAY: '${ray}' }
`
}

/** A stand-in that plays the known solutions in place of a model server. */
export function engineFor(tasks: string): string {
  const command = [
    process.execPath,
    program,
    'serve',
    '--engine',
    'scripted',
    '-m',
    'stand-in',
    '--tasks',
    tasks,
    '--no-key',
  ]
  return JSON.stringify({
    engine: { type: 'vllm_local', model: 'stand-in', vllm_local: { endpoint_json: 'unused.json' } },
    backend: { type: 'vllm', healthcheck_max_attempts: 90, healthcheck_retry_delay: 1 },
    vllm_server: { command, model_path: 'stand-in', num_replicas: 2 },
  })
}

/** Arguments of a launch that runs the tasks' own solutions. */
export function oracleOver(tasks: string): string[] {
  const words = [
    '--job-type',
    'datagen',
    '--enable-task-gen',
    'false',
    '--enable-trace-gen',
    '--trace-input-path',
    tasks,
  ]
  return [...words, '--trace-agent-name', 'oracle', '--trace-n-concurrent', '1', '--trace-eval-only']
}

/** Tasks whose solutions take this many seconds. */
export async function slowTasks(dir: string, count: number, sec: number): Promise<string> {
  for (let i = 0; i < count; i++) await writeTask(dir, `slow-${i}`, { solve: `sleep ${sec}\n${passingSolve}` })
  return dir
}

/** The state of each job. */
export function states(jobs: readonly { job: string; state: string }[]): Record<string, string> {
  return Object.fromEntries(jobs.map(({ job, state }) => [job, state]))
}

/** Slurm holds a requeued job for minutes; this releases it at once. */
export function startHeldJobs(slurm: SlurmCluster): void {
  for (const line of slurm.slurm('squeue', '-h', '--array', '-o', '%i %T %r').split('\n')) {
    const [job = '', state, reason] = line.split(' ')
    if (state === 'PENDING' && reason === 'BeginTime')
      slurm.slurm('scontrol', 'update', `jobid=${job}`, 'StartTime=now')
  }
}

/** The rows of a recipe's first step, and the number of distinct values in a column. */
export async function countRows(out: string, step = 'puzzles', column = 'name') {
  await using sql = await SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: join(out, 'count') })
  const [found] = await sql.rows(
    `SELECT count(*) AS rows, count(DISTINCT ${column}) AS names FROM read_parquet('${out}/stages/${step}-*/part-*.parquet')`,
  )
  return { rows: Number(found?.rows), distinct: Number(found?.names) }
}

/** The number of rows in parquet files. */
export async function rowsIn(files: string): Promise<number> {
  await using sql = await SqlDatabase.open({
    memoryMb: 256,
    threads: 1,
    tempDir: mkdtempSync(join(tmpdir(), 'ot-rows-')),
  })
  const [found] = await sql.rows(`SELECT count(*) AS rows FROM read_parquet('${files}')`)
  return Number(found?.rows)
}

/** The records of trials below a directory. */
export function trialsIn(jobs: string): string[] {
  if (!existsSync(jobs)) return []
  const names = readdirSync(jobs, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /\/[^/]+__[^/]+\/record\.json$/.test(`/${name}`)).sort()
}

/** Slurm's IDs for the jobs of a launch. */
export function idsOf(dir: string, id: string): string[] {
  return submitted(dir, id).map((each) => each.id)
}

/** Slurm's ID for one job. */
export function idOf(dir: string, id: string, job: string): string | undefined {
  return submitted(dir, id).find((each) => each.job === job)?.id
}

function submitted(dir: string, id: string): { job: string; id: string }[] {
  const lines = readFileSync(join(dir, 'launches', id, 'submitted.jsonl'), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

/** The last output of the jobs. */
export function logsOf(dir: string, length = 1500): string {
  const logs = join(dir, 'logs')
  if (!existsSync(logs)) return ''
  return readdirSync(logs)
    .map((name) => `== ${name}\n${readFileSync(join(logs, name), 'utf8').slice(-length)}`)
    .join('\n')
}

/** Files below a directory that contain a text. */
export function filesWith(dir: string, text: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(dir, name)
    return lstatSync(path).isFile() && readFileSync(path).includes(text)
  })
}
