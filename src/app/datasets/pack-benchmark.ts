import { mkdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Benchmark, BenchmarkSource } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { parseBenchmarkYaml } from '../../formats/benchmark/benchmark-yaml.ts'
import { obtainSource, renderSource } from '../../formats/benchmark/obtain.ts'
import { type BenchmarkText, makePack } from '../../formats/benchmark/pack.ts'
import { packEnding, readPackHeader, renderPack } from '../../formats/benchmark/pack-file.ts'
import { readBenchmarkTexts } from '../../formats/benchmark/read-texts.ts'
import { chooseBenchmark, findBenchmark, loadBenchmarks, ownBenchmarks } from '../../formats/known-benchmarks.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { isMissing, kindAt, writeAtomic } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { explainDisk } from '../disk-errors.ts'
import { firstReachable, placesOf, type SourceOptions } from './places.ts'

export interface PackRequest extends SourceOptions {
  /** A known name, a new one, or a .yaml file describing a benchmark. */
  readonly benchmark: string
  /** The file to write. */
  readonly out?: string | undefined
  /** Number of words per hashed run of words. */
  readonly words?: number | undefined
  /** What to record in the pack as the origin of its tasks. */
  readonly source?: string | undefined
}

export interface PackedBenchmark {
  readonly benchmark: string
  readonly file: string
  readonly tasks: number
  readonly words: number
  readonly runs: number
  readonly bytes: number
}

/** Where a pack is written by default. */
export const usualPackFile = `${ownBenchmarks}/NAME${packEnding}`

/** Builds a benchmark's decontamination pack: hashes of every run of words in its tasks. */
export async function packBenchmark(
  { benchmark: asked, out: into, words, source: said, ...from }: PackRequest,
  { signal, notify }: { readonly signal: AbortSignal; readonly notify: (text: string) => void },
): Promise<PackedBenchmark> {
  const benchmark = await describe(asked, from.from !== undefined)
  const { name, title, licence } = benchmark
  const file = into ?? join(ownBenchmarks, `${name}${packEnding}`)
  await refuseOther(file, name)
  const places = placesOf([...benchmark.texts, ...benchmark.sources], from)
  const { texts, place } = await firstReachable(places, { name, instead, notify }, async (place) => ({
    ...{ texts: await textsAt(place, signal), place },
  }))
  const pack = makePack(name, texts, words ?? benchmark.decontamination.words)
  const source = said ?? (place.kind === 'path' ? basename(place.name) : renderSource(place))
  const bytes = renderPack(pack, { title, licence, source })
  await explainDisk(file, () => writeAtomic(file, bytes))
  if (texts.length !== benchmark.tasks && benchmark.tasks > 0)
    notify(`${name} has ${benchmark.tasks} tasks, but ${texts.length} were found`)
  return {
    ...{ benchmark: name, file, tasks: texts.length },
    ...{ words: pack.words, runs: pack.keys.length, bytes: bytes.length },
  }
}

const instead = 'use tasks on this machine: --from DIR, or a file of rows'

type Described = Pick<Benchmark, 'name' | 'title' | 'licence' | 'texts' | 'sources' | 'tasks' | 'decontamination'>

/** What is known about a benchmark. Unknown names are fine if there are tasks, unless they look like a typo. */
async function describe(asked: string, hasTasks: boolean): Promise<Described> {
  if (/\.ya?ml$/.test(asked)) return parseBenchmarkYaml(await readDescription(asked), asked)
  const all = await loadBenchmarks()
  const names = all.flatMap(({ name, aliases }) => [name, ...aliases])
  if (findBenchmark(all, asked) || !hasTasks || nearest(asked, names) !== null) return chooseBenchmark(all, asked)
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(asked))
    throw new UserError(
      `expected a name of lower-case letters, digits, dots and dashes, got ${JSON.stringify(asked.slice(0, 100))}`,
      'ot-agent benchmarks list shows the known ones',
    )
  return {
    ...{ name: asked, title: asked, licence: 'not said', texts: [], sources: [], tasks: 0 },
    decontamination: { words: 8 },
  }
}

async function readDescription(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${file}: expected a file that describes a benchmark, found nothing there`, 'check the path')
  }
}

async function refuseOther(out: string, name: string): Promise<void> {
  if ((await kindAt(out)) === 'none') return
  const { benchmark } = await readPackHeader(out).catch((error: unknown) => {
    if (error instanceof UserError)
      throw new UserError(`${out}: expected a new path or an earlier pack, found another file`, 'choose another --out')
    throw error
  })
  if (benchmark !== name)
    throw new UserError(
      `${out}: expected an earlier pack of ${name}, found one of ${benchmark}`,
      'choose another --out',
    )
}

/** The texts at a place; anything fetched for this is removed again. */
async function textsAt(place: BenchmarkSource, signal: AbortSignal): Promise<readonly BenchmarkText[]> {
  const choice = place.kind === 'harbor' ? {} : place
  if (place.kind === 'path') return readBenchmarkTexts(place.name, choice)
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-benchmark-'))
  const dir = join(scratch, 'tasks')
  try {
    await mkdir(dir)
    await obtainSource(place, dir, { env: process.env, signal })
    return await readBenchmarkTexts(dir, choice).catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      throw new UserError(error.message.replaceAll(dir, renderSource(place)), error.hint)
    })
  } finally {
    await removeDraft(scratch)
  }
}
