import type { RecordedRound } from '../core/replay.ts'
import { exchangesName } from '../core/task-paths.ts'
import type { TrialFile } from '../core/trace.ts'
import { exchangesLimitBytes } from '../formats/exchanges/exchange.ts'
import { modelInHead, readExchanges } from '../formats/exchanges/read-exchanges.ts'
import { turnsOfExchanges } from '../formats/exchanges/recorded-turns.ts'
import { type LimitOf, readTrialDir } from './read-trial-dir.ts'

const onlyExchanges: LimitOf = (folder, name) =>
  folder === 'agent' && name === exchangesName ? exchangesLimitBytes : null

/** The recorded calls in a trial's directory or on its tape: one file per step. */
export function readRecorded(dir: string): Promise<TrialFile[]> {
  return readTrialDir(dir, onlyExchanges)
}

/** The total number of recorded calls. */
export function callsIn(files: readonly TrialFile[]): number {
  return files.reduce(
    (sum, { bytes }) => sum + readExchanges(bytes).threads.reduce((calls, thread) => calls + thread.calls.length, 0),
    0,
  )
}

/** Turns one file of a tape into a round of its trial. */
export function roundOf({ step, bytes }: TrialFile): RecordedRound {
  const exchanges = readExchanges(bytes)
  const at = new Date(exchanges.threads[0]?.calls[0]?.timestamp ?? Number.NaN)
  return {
    turns: turnsOfExchanges(exchanges, step ?? 'trial'),
    at: Number.isNaN(at.getTime()) ? null : at,
    isCut: true,
    wasRefused: exchanges.failed.some(({ code }) => code === 'ContextLengthExceededError'),
    model: modelInHead(bytes),
  }
}
