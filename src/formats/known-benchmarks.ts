import { readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Benchmark, BenchmarkSource } from '../core/benchmark.ts'
import { UserError } from '../core/errors.ts'
import { namesIn } from '../lib/files.ts'
import { nearest } from '../lib/nearest.ts'
import { compareBytes } from '../lib/tree.ts'
import { parseBenchmarkYaml } from './benchmark/benchmark-yaml.ts'

/**
 * The directory of this package's own benchmarks and packs; the relative path is the same from the sources and the
 * build.
 */
export const shippedBenchmarks = fileURLToPath(new URL('../../benchmarks', import.meta.url))
/** The user's own benchmarks, in the working directory. */
export const ownBenchmarks = 'benchmarks'

/** A benchmark and the file that describes it. */
export interface KnownBenchmark extends Benchmark {
  readonly file: string
}

/** Every benchmark that has a file, by name: those in the working directory first, then the package's. */
export async function loadBenchmarks(cwd = process.cwd()): Promise<readonly KnownBenchmark[]> {
  const found = new Map<string, KnownBenchmark>()
  for (const dir of new Set([resolve(cwd, ownBenchmarks), shippedBenchmarks]))
    for (const name of (await namesIn(dir)).filter((each) => /\.ya?ml$/.test(each))) {
      const known = await readBenchmark(join(dir, name))
      if (!found.has(known.name)) found.set(known.name, known)
    }
  return [...found.values()].sort((a, b) => compareBytes(a.name, b.name))
}

async function readBenchmark(file: string): Promise<KnownBenchmark> {
  const benchmark = parseBenchmarkYaml(await readFile(file, 'utf8'), file)
  const named = basename(file).replace(/\.ya?ml$/, '')
  if (named !== benchmark.name)
    throw new UserError(
      `${file}: expected the benchmark ${named}, found ${benchmark.name}`,
      'rename the file after the benchmark',
    )
  return { ...benchmark, sources: benchmark.sources.map((source) => located(source, file)), file }
}

/** Resolves a path relative to the folder containing `benchmarks`: the working directory, or the package. */
function located(source: BenchmarkSource, file: string): BenchmarkSource {
  return source.kind === 'path' ? { ...source, name: resolve(file, '../..', source.name) } : source
}

/** Finds a benchmark by name or alias; an unknown one is a UserError that suggests the closest. */
export function chooseBenchmark(all: readonly KnownBenchmark[], name: string): KnownBenchmark {
  const found = findBenchmark(all, name)
  if (found) return found
  const near = nearest(
    name,
    all.flatMap((each) => [each.name, ...each.aliases]),
  )
  throw new UserError(
    `unknown benchmark ${JSON.stringify(name.slice(0, 200))}`,
    near === null ? 'ot-agent benchmarks list shows the known ones' : `did you mean ${near}?`,
  )
}

/** The same without an error. */
export function findBenchmark(all: readonly KnownBenchmark[], name: string): KnownBenchmark | undefined {
  return all.find((each) => each.name === name) ?? all.find(({ aliases }) => aliases.includes(name))
}
