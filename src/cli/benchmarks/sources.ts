import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchmarkSource } from '../../core/benchmark.ts'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { obtainSource, parseSource, renderSource } from '../../formats/benchmark/obtain.ts'
import type { BenchmarkText } from '../../formats/benchmark/pack.ts'
import { readBenchmarkTexts } from '../../formats/benchmark/read-texts.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { oneLine } from '../../lib/visible.ts'
import { note } from '../output.ts'

/** Where a command gets tasks from, as its options say. */
export interface SourceOptions {
  readonly from?: string | undefined
  readonly registry?: string | undefined
  readonly idColumn?: string | undefined
  readonly textColumn?: string | undefined
  readonly files?: readonly string[] | undefined
}

/** The places to try, the best first: the one that was named, or those the benchmark's file names. */
export function placesOf(listed: readonly BenchmarkSource[], options: SourceOptions): readonly BenchmarkSource[] {
  const { from, registry, idColumn: id, textColumn: text, files } = options
  if (from === undefined)
    return listed.map((source) => (source.kind === 'harbor' && registry ? { ...source, registry } : source))
  const source = parseSource(from, registry)
  return [source.kind === 'harbor' ? source : { ...source, id, text, files }]
}

/** Tries one place after the other. When none can be reached, says why and what to do instead: exit code 3. */
export async function firstReachable<T>(
  benchmark: string,
  places: readonly BenchmarkSource[],
  instead: string,
  work: (place: BenchmarkSource) => Promise<T>,
): Promise<T> {
  const failures: string[] = []
  for (const place of places) {
    try {
      return await work(place)
    } catch (error) {
      const isLast = place === places.at(-1)
      if (!(error instanceof BoundaryError) && !(error instanceof UserError && !isLast)) throw error
      failures.push(oneLine(messageOf(error)))
      if (!isLast) note(`${failures.at(-1)}; trying ${renderSource(places[failures.length] ?? place)}`)
    }
  }
  const last = failures.at(-1) ?? 'its file names no place to get them from'
  throw new BoundaryError('store', `no tasks of ${benchmark}: ${last}\nhint: ${instead}`)
}

/** The texts at a place; what has to be fetched for that goes again. */
export async function textsAt(place: BenchmarkSource, signal: AbortSignal): Promise<readonly BenchmarkText[]> {
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
