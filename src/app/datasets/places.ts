import type { BenchmarkSource } from '../../core/benchmark.ts'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { parseSource, renderSource } from '../../formats/benchmark/obtain.ts'
import { oneLine } from '../../lib/visible.ts'

/** Where a command gets tasks from, according to its options. */
export interface SourceOptions {
  readonly from?: string | undefined
  readonly registry?: string | undefined
  readonly idColumn?: string | undefined
  readonly textColumn?: string | undefined
  readonly files?: readonly string[] | undefined
}

/** The places to try, best first: the one given, or those in the benchmark's file. */
export function placesOf(listed: readonly BenchmarkSource[], options: SourceOptions): readonly BenchmarkSource[] {
  const { from, registry, idColumn: id, textColumn: text, files } = options
  if (from === undefined)
    return listed.map((source) => (source.kind === 'harbor' && registry ? { ...source, registry } : source))
  const source = parseSource(from, registry)
  return [source.kind === 'harbor' ? source : { ...source, id, text, files }]
}

/** How attempts at several places are reported, and the hint if none can be reached. */
export interface Tries {
  readonly name: string
  readonly instead: string
  readonly notify: (line: string) => void
}

/** Tries one place after the other. If none can be reached, the error says why and what to do instead: exit code 3. */
export async function firstReachable<T>(
  places: readonly BenchmarkSource[],
  { name, instead, notify }: Tries,
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
      if (!isLast) notify(`${failures.at(-1)}; trying ${renderSource(places[failures.length] ?? place)}`)
    }
  }
  const last = failures.at(-1) ?? 'its file lists no place to fetch them from'
  throw new BoundaryError('store', `could not fetch the tasks of ${name}: ${last}\nhint: ${instead}`)
}
