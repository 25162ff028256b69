import { UserError } from '../../core/errors.ts'
import { kindAt } from '../../lib/files.ts'
import { isGlob } from '../../lib/path-glob.ts'
import { type PhraseCount, PhraseTally } from '../../stats/phrases.ts'
import { makeTraceTally, type TraceTally } from '../../stats/trace-stats.ts'
import { type TracesAsk, tracesIn } from './traces-in.ts'

export type { PhraseCount } from '../../stats/phrases.ts'
export type { Measure, Spread, TraceStats, TraceTally } from '../../stats/trace-stats.ts'

export interface CountAsk extends Omit<TracesAsk, 'messages'> {
  /** Phrases to search for in conversations. */
  readonly phrases: readonly string[]
  readonly onTrace: (seen: number) => void
}

/** Counts what is in the traces of jobs, or in trace datasets. */
export async function tallyTraces(
  paths: readonly string[],
  { onTrace, phrases, ...ask }: CountAsk,
): Promise<{ readonly tally: TraceTally; readonly phrases: readonly PhraseCount[] }> {
  if (phrases.includes('')) throw new UserError('--count: expected a text, got an empty string', '--count "<think>"')
  const tally = makeTraceTally()
  const phraseTally = new PhraseTally(phrases)
  let seen = 0
  for (const path of paths) {
    await checkThere(path)
    for await (const { facts, messages } of tracesIn(path, { ...ask, messages: phrases.length > 0 })) {
      tally.add(facts)
      phraseTally.add(messages)
      onTrace(++seen)
    }
  }
  return { tally, phrases: phraseTally.read() }
}

async function checkThere(path: string): Promise<void> {
  if (isGlob(path) || (await kindAt(path)) !== 'none') return
  throw new UserError(
    `${path}: expected jobs or a parquet file, found nothing there`,
    'pass a job, a directory of jobs, or a dataset',
  )
}
