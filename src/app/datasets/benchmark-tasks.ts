import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { BenchmarkSource } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { renderSource } from '../../formats/benchmark/obtain.ts'
import { findBenchmark, type KnownBenchmark } from '../../formats/known-benchmarks.ts'
import { kindAt } from '../../lib/files.ts'
import { AlreadyThere } from '../../lib/new-dir.ts'
import { defaultStateDir } from '../../lib/process-identity.ts'
import { fetchTasks } from './fetch-tasks.ts'
import { firstReachable } from './places.ts'

/** A folder of tasks on this machine. */
export interface TaskFolder {
  readonly dir: string
  /** The dataset's name; results are grouped by it. */
  readonly source: string
  /** Which tasks of the folder belong to the dataset; null means all. */
  readonly names: readonly string[] | null
}

/** Whether and how missing tasks may be fetched. */
export interface FetchAt {
  readonly fetch: boolean
  readonly notify: (line: string) => void
  readonly signal: AbortSignal
}

/** The cache directory for tasks fetched from a place. */
export function cachedTasksDir(name: string, key: unknown): string {
  const readable = name.replace(/[^\w.@-]+/g, '-').slice(0, 80)
  return join(defaultStateDir(), 'datasets', `${readable}-${hash('sha256', JSON.stringify(key)).slice(0, 12)}`)
}

/**
 * A benchmark's tasks on this machine, or null: in a folder its file names, in one that was fetched here, or in the
 * cache.
 */
export async function benchmarkTasksHere(
  benchmark: KnownBenchmark,
  all: readonly KnownBenchmark[],
): Promise<TaskFolder | null> {
  const { name, sources, partOf } = benchmark
  const paths = sources.flatMap((source) => (source.kind === 'path' ? [source.name] : []))
  const whole = partOf && findBenchmark(all, partOf.benchmark)
  const cached = [...sources, ...(whole?.sources ?? [])].map((source) => cachedTasksDir(name, source))
  for (const dir of [...paths, name, ...cached])
    if ((await kindAt(dir)) === 'dir') return { dir, source: name, names: null }
  const folder = whole ? await benchmarkTasksHere(whole, all) : null
  return folder && partOf ? { ...folder, source: name, names: partOf.names } : null
}

/** A benchmark's tasks, fetched if missing and allowed. */
export async function benchmarkTasks(
  benchmark: KnownBenchmark,
  all: readonly KnownBenchmark[],
  at: FetchAt,
): Promise<TaskFolder> {
  const here = await benchmarkTasksHere(benchmark, all)
  if (here) return here
  const { name, sources, partOf } = benchmark
  if (!at.fetch) throw notHere(name, `ot-agent benchmarks fetch ${name}`)
  const whole = partOf && findBenchmark(all, partOf.benchmark)
  const places = [...sources, ...(whole?.sources ?? [])]
  const instead = `run ot-agent benchmarks fetch ${name} on a machine with network, copy the folder here and pass it with -p`
  const dir = await firstReachable(places, { name, instead, notify: at.notify }, async (place) => {
    const isOwn = sources.includes(place)
    return fetched(name, place, { ...at, names: isOwn ? null : (partOf?.names ?? null) })
  })
  return { dir, source: name, names: null }
}

/** The tasks of a fully qualified place, such as `hf:org/name` or a registry's dataset. */
export async function placeTasks(place: BenchmarkSource, at: FetchAt): Promise<TaskFolder> {
  const source = shortName(place.name)
  const dir = cachedTasksDir(source, place)
  if (!at.fetch && (await kindAt(dir)) !== 'dir') throw notHere(renderSource(place))
  return { dir: await fetched(source, place, { ...at, names: null }), source, names: null }
}

/** The name that results are grouped by: `name` for `harbor:name@version` or `hf:org/name`. */
export function shortName(name: string): string {
  return name
    .replace(/^(hf|harbor|git):/, '')
    .replace(/@[^@/]*$/, '')
    .replace(/(\.git)?\/*$/, '')
    .replace(/^.*\//, '')
}

async function fetched(
  name: string,
  place: BenchmarkSource,
  at: FetchAt & { readonly names: readonly string[] | null },
): Promise<string> {
  const dir = cachedTasksDir(name, place)
  if ((await kindAt(dir)) === 'dir') return dir
  at.notify(`fetching the tasks of ${name} from ${renderSource(place)}`)
  await fetchTasks(place, dir, { env: process.env, signal: at.signal }, at.names).catch((error: unknown) => {
    // Another process fetched the same tasks concurrently.
    if (!(error instanceof AlreadyThere)) throw error
  })
  at.notify(`the tasks of ${name} are in ${dir}`)
  return dir
}

function notHere(name: string, command?: string): UserError {
  const or = command === undefined ? '' : `, fetch them with ${command}`
  return new UserError(
    `the tasks of ${name} are not on this machine`,
    `add --fetch${or}, or pass their folder with -p`,
    3,
  )
}
