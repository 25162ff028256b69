import { UserError } from '../../core/errors.ts'
import { kindAt } from '../../lib/files.ts'
import { isGlob } from '../../lib/path-glob.ts'
import { makeTraceTally, type TraceTally } from '../../stats/trace-stats.ts'
import { type FactsAsk, factsIn } from './read-facts.ts'

export type { Measure, Spread, TraceStats, TraceTally } from '../../stats/trace-stats.ts'

/** Counts what is in the traces of jobs, or in datasets of traces. */
export async function tallyTraces(
  paths: readonly string[],
  { onTrace, ...ask }: FactsAsk & { readonly onTrace: (seen: number) => void },
): Promise<TraceTally> {
  const tally = makeTraceTally()
  let seen = 0
  for (const path of paths) {
    await checkThere(path)
    for await (const facts of factsIn(path, ask)) {
      tally.add(facts)
      onTrace(++seen)
    }
  }
  return tally
}

async function checkThere(path: string): Promise<void> {
  if (isGlob(path) || (await kindAt(path)) !== 'none') return
  throw new UserError(
    `${path}: expected jobs or a parquet file, got nothing there`,
    'name a job, a directory of jobs, or a dataset',
  )
}
