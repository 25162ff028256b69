import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { renderSource } from '../../formats/benchmark/obtain.ts'
import { countTaskFolders } from '../../formats/benchmark/read-texts.ts'
import { chooseBenchmark, findBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { kindAt } from '../../lib/files.ts'
import { AlreadyThere } from '../../lib/new-dir.ts'
import { fetchTasks } from './fetch-tasks.ts'
import { firstReachable, placesOf } from './places.ts'

export interface FetchRequest {
  /** A name that `benchmarks list` knows. */
  readonly benchmark: string
  /** The folder to create (default: the benchmark's name). */
  readonly out?: string | undefined
  /** A place to use instead of those in the benchmark's file. */
  readonly from?: string | undefined
  readonly registry?: string | undefined
}

export interface FetchedBenchmark {
  readonly benchmark: string
  readonly from: string
  readonly dir: string
  readonly tasks: number
  /** How many files of rows were fetched, if the benchmark has no tasks that an agent can run. */
  readonly files: number
}

/** Fetches a benchmark's tasks into a folder that appears whole or not at all. */
export async function fetchBenchmark(
  { benchmark: asked, out: into, ...options }: FetchRequest,
  { signal, notify }: { readonly signal: AbortSignal; readonly notify: (text: string) => void },
): Promise<FetchedBenchmark> {
  const all = await loadBenchmarks()
  const benchmark = chooseBenchmark(all, asked)
  const { name, partOf } = benchmark
  const out = into ?? name
  if ((await kindAt(out)) !== 'none') throw taken(out)
  const whole = partOf && findBenchmark(all, partOf.benchmark)
  const ofWhole = placesOf(options.from === undefined ? (whole?.sources ?? []) : [], { registry: options.registry })
  const places = [...placesOf([...benchmark.sources, ...benchmark.texts], options), ...ofWhole]
  const place = await firstReachable(places, { name, instead, notify }, async (place) => {
    const names = partOf && ofWhole.includes(place) ? partOf.names : null
    await fetchTasks(place, out, { env: process.env, signal }, names)
    return place
  }).catch((error: unknown) => {
    throw error instanceof AlreadyThere ? taken(out) : error
  })
  const tasks = await countTaskFolders(out)
  const files = tasks > 0 ? 0 : (await readdir(out)).length
  if (tasks > 0 && tasks !== benchmark.tasks) notify(`${name} has ${benchmark.tasks} tasks, but ${tasks} were found`)
  return { benchmark: name, from: renderSource(place), dir: resolve(out), tasks, files }
}

const instead =
  'run it on a machine with network and copy the folder, or use another source: --from hf:org/name, harbor:name or git:URL'

function taken(out: string): UserError {
  return new UserError(`${out}: expected a new path, but it already exists`, 'choose another folder with --out')
}
