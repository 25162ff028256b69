import type { TrialConfig } from '../core/job.ts'
import type { RecordedAttempt } from '../core/replay.ts'
import type { TrialRecord } from '../core/trial.ts'

/** A finished trial's files, as a directory; release it, because it may be a temporary copy. */
export interface OpenTrial extends AsyncDisposable {
  readonly dir: string
}

/**
 * Where the trials of one job live. A trial is finished exactly when its record was committed;
 * what a crash left of any other trial is invisible here and is thrown away by `begin`.
 */
export interface TrialStore {
  /** Every finished trial, in no particular order. */
  records(): AsyncIterable<TrialRecord>
  /** The same, many at a time: of a large job, waiting for each would take as long as its work. */
  batches(): AsyncIterable<readonly TrialRecord[]>
  /** An empty directory for the trial's files (`agent/`, `verifier/`, `artifacts/`, trial.log), with its config written. */
  begin(config: TrialConfig): Promise<string>
  /** What the newest interrupted attempt of the trial was told by its model; null when there is nothing. Stays until the trial has ended. */
  tapeOf(trialName: string): Promise<RecordedAttempt | null>
  /** Forgets that: the trial goes on without it. */
  dropTape(trialName: string): Promise<void>
  /** The trial's directory, empty as after `begin`: nothing of the try under way is kept. */
  startOver(config: TrialConfig): Promise<string>
  /** Puts aside the files of a try that failed and will be retried, where no reader takes them for the trial's own. `nth` counts from 1. */
  keepFailedTry(trialName: string, nth: number, record: TrialRecord): Promise<void>
  /** Makes the record and the files of the trial's directory permanent, all at once. */
  commit(record: TrialRecord): Promise<void>
  /**
   * Gives a finished trial another record, with what a directory has in `verifier/` and trial.log; what it had is kept aside like a failed
   * try's. At every moment the trial has the old record or the new one.
   */
  replace(record: TrialRecord, from: string): Promise<void>
  /** Takes a finished trial back, to run it again; its files are kept aside like a failed try's. */
  retract(trialName: string): Promise<void>
  open(trialName: string): Promise<OpenTrial>
  /** Waits for what is still being written. */
  close(): Promise<void>
}
