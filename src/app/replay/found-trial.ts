import type { TrialConfig } from '../../core/job.ts'
import type { ModelFacts } from '../../core/model.ts'
import type { RecordedTurn } from '../../core/replay.ts'
import type { TrialRecord } from '../../core/trial.ts'

/** A recorded trial that may be replayed, with what is known about it. */
export interface FoundTrial {
  readonly job: string
  readonly name: string
  /** Every requested row of it, with the reason if it cannot be replayed. */
  readonly rows: readonly FoundRow[]
  /** The turns of all conversations, including those that are not requested. */
  readonly turns: readonly RecordedTurn[]
  /** When it started; null if unknown. */
  readonly at: Date | null
  readonly isCut: boolean
  readonly reward: number | null
  readonly agent: {
    readonly name: string
    readonly version: string | null
    readonly model: string | null
    readonly promptsDigest: string | null
  }
  /** What the agent knew about its model; null if not recorded. */
  readonly model: Pick<ModelFacts, 'contextTokens' | 'outputTokens'> | null
  readonly task: {
    readonly name: string
    /** Null in third-party datasets. */
    readonly digest: string | null
    /** Where it was when the trial ran. */
    readonly path: string | null
  }
  /** How it was run; for a dataset whose job is not available, as far as known. */
  readonly settings: ReplaySettings
}

export interface FoundRow {
  readonly id: string
  readonly cannot: string | null
  /** Set for a row that is a prefix of another one: it holds as far as that one does. */
  readonly within?: { readonly row: string; readonly turns: number }
}

/** What determines how a trial runs. */
export type ReplaySettings = Pick<TrialConfig, 'agent' | 'environment' | 'timeoutMultipliers' | 'verifier'>

/** Whether something other than the agent ended its run, so that the agent would have gone on. */
export function isCut({ end }: TrialRecord): boolean {
  return end.kind !== 'scored' || end.exit.kind === 'limit'
}

/** Why an existing row cannot be replayed. */
export const notReplayable = {
  noExchanges: 'its trial recorded no exchanges with the model, only a trajectory',
  readable: 'the row is in the readable form, not what the model was sent and replied',
  incomplete: 'other conversations of its trial are not in the dataset, and its job was not found',
  customAgent: (path: string) => `its agent is the file ${path}, which only its job may load; replay the job instead`,
} as const
