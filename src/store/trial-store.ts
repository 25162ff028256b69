import type { TrialConfig } from '../core/job.ts'
import type { RecordedAttempt } from '../core/replay.ts'
import type { TrialRecord } from '../core/trial.ts'

/** A finished trial's files as a directory; release it, because it may be a temporary copy. */
export interface OpenTrial extends AsyncDisposable {
  readonly dir: string
}

/**
 * Where the trials of one job live. A trial is finished exactly when its record was committed; what a crash left of any
 * other trial is invisible here and is discarded by `begin`.
 */
export interface TrialStore {
  /** Every finished trial, in no particular order. */
  records(): AsyncIterable<TrialRecord>
  /** The same in batches: for a large job, awaiting each record would take as long as reading it. */
  batches(): AsyncIterable<readonly TrialRecord[]>
  /** An empty directory for the trial's files (`agent/`, `verifier/`, `artifacts/`, trial.log), with its config written. */
  begin(config: TrialConfig): Promise<string>
  /**
   * The model replies of the trial's newest interrupted attempt; null when there are none. They stay until the trial
   * has ended.
   */
  tapeOf(trialName: string): Promise<RecordedAttempt | null>
  /** Drops the tape: the trial continues without it. */
  dropTape(trialName: string): Promise<void>
  /** The trial's directory, empty as after `begin`: nothing of the current try is kept. */
  startOver(config: TrialConfig): Promise<string>
  /**
   * Sets aside the files of a failed try that will be retried, where no reader takes them for the trial's own. `nth`
   * counts from 1.
   */
  keepFailedTry(trialName: string, nth: number, record: TrialRecord): Promise<void>
  /** Makes the record and the files of the trial's directory permanent, all at once. */
  commit(record: TrialRecord): Promise<void>
  /**
   * Gives a finished trial another record, with the `verifier/` and trial.log of a directory; the old ones are kept
   * like a failed try's. At every moment the trial has either the old record or the new one.
   */
  replace(record: TrialRecord, from: string): Promise<void>
  /** Retracts a finished trial so that it runs again; its files are kept like a failed try's. */
  retract(trialName: string): Promise<void>
  open(trialName: string): Promise<OpenTrial>
  /** Waits for pending writes. */
  close(): Promise<void>
}
