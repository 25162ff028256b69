import { stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { findPacks } from '../../formats/benchmark/find-packs.ts'
import { renderSource } from '../../formats/benchmark/obtain.ts'
import { packEnding, readPackHeader } from '../../formats/benchmark/pack-file.ts'
import { type KnownBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { benchmarkTasksHere } from './benchmark-tasks.ts'

export interface ListedBenchmark extends KnownBenchmark {
  readonly pack: PackFacts | null
  readonly tasksIn: string | null
  /** The first place from which its tasks or texts can be fetched. */
  readonly tasksFrom: string | null
}

/** Every benchmark with a file: its pack, where its tasks are, and where they can be fetched. */
export async function listBenchmarks(): Promise<readonly ListedBenchmark[]> {
  const all = await loadBenchmarks()
  return Promise.all(
    all.map(async (known) => {
      const [best] = [...known.sources, ...known.texts]
      const tasksFrom = best === undefined ? null : renderSource(best)
      return { ...(await withPack(known)), tasksIn: await placeOf(known, all), tasksFrom }
    }),
  )
}

/** The folder with its tasks, as a relative path if it is below the working directory; null if they must be fetched. */
async function placeOf(known: KnownBenchmark, all: readonly KnownBenchmark[]): Promise<string | null> {
  const here = await benchmarkTasksHere(known, all)
  if (here === null) return null
  const below = relative(process.cwd(), resolve(here.dir))
  return below.startsWith('..') ? resolve(here.dir) : below
}

/** The size of a pack; null if there is none. */
interface PackFacts {
  readonly file: string
  readonly benchmark: string
  readonly tasks: number | null
  readonly words: number | null
  readonly bytes: number
}

async function withPack(known: KnownBenchmark): Promise<KnownBenchmark & { pack: PackFacts | null }> {
  const { found } = await findPacks({ benchmarks: [known.name] })
  const [pack] = found
  if (!pack) return { ...known, pack: null }
  const header = pack.file.endsWith(packEnding) ? await readPackHeader(pack.file) : null
  const { size: bytes } = await stat(pack.file)
  const facts = {
    file: pack.file,
    benchmark: pack.benchmark,
    tasks: header?.tasks ?? null,
    words: header?.words ?? null,
    bytes,
  }
  return { ...known, pack: facts }
}
