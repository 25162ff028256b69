import type { TrialRecord } from './trial.ts'

/** A file of a finished trial, read up to its reader's limit. What an agent wrote is hostile. */
export interface TrialFile {
  /** The step it belongs to; null for a single-step trial. */
  readonly step: string | null
  readonly folder: 'agent' | 'verifier'
  readonly name: string
  /** The first bytes of the file, all of them unless `size` says more. */
  readonly bytes: Uint8Array
  readonly size: number
}

/** A finished trial with the files that traces are made of. */
export interface TrialWithFiles {
  readonly job: string
  readonly record: TrialRecord
  readonly files: readonly TrialFile[]
}

/** Why something did not become a trace. */
const dropReasons = [
  'filtered-by-result',
  'no-valid-reply',
  'no-trajectory',
  'not-exact',
  'trajectory-unreadable',
  'trajectory-too-large',
  'images',
  'no-agent-turn',
  'no-user-turn',
  'subagent-left-out',
  'trial-unreadable',
  'job-unreadable',
] as const
export type DropReason = (typeof dropReasons)[number]

/** Something that did not become a trace: a whole trial, or one trajectory of it. */
export interface Drop {
  readonly reason: DropReason
  /** What exactly was found, for a person. */
  readonly detail: string
  /** The trajectory it is about; null when the trial gives no trace at all. */
  readonly traceSource: string | null
  readonly step: string | null
}

/** A trace without its conversation: what statistics look at. */
export interface TraceFacts {
  readonly job: string
  readonly trial: string
  readonly task: string
  readonly agent: string
  readonly model: string
  /** `main`, or which subagent; null when the trial left no trace. */
  readonly traceSource: string | null
  /** A reward as Python prints it, the name of an exception, or null when nothing was verified. */
  readonly result: string | null
  readonly reward: number | null
  readonly end: string
  readonly exit: string | null
  readonly boundary: string | null
  /** In a multi-step trial, only those of this step. */
  readonly turns: number | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
  readonly promptDigest: string | null
  /** The step of a multi-step task. */
  readonly step: string | null
  /** How test results compare with and without the system files that the agent changed; null when it changed none. */
  readonly systemEffect: 'differ' | 'same' | null
}
