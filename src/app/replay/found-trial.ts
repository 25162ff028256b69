import type { TrialConfig } from '../../core/job.ts'
import type { ModelFacts } from '../../core/model.ts'
import type { RecordedTurn } from '../../core/replay.ts'
import type { TrialRecord } from '../../core/trial.ts'

/** A recorded trial that may be replayed, with what is known about it. */
export interface FoundTrial {
  readonly job: string
  readonly name: string
  /** Every row of it that is asked about, with the reason where it cannot be replayed. */
  readonly rows: readonly FoundRow[]
  /** Of all conversations, those that are not asked about included. */
  readonly turns: readonly RecordedTurn[]
  /** When it began; null when unknown. */
  readonly at: Date | null
  readonly isCut: boolean
  readonly reward: number | null
  readonly agent: {
    readonly name: string
    readonly version: string | null
    readonly model: string | null
    readonly promptsDigest: string | null
  }
  /** What the agent knew about its model; null when it was not recorded. */
  readonly model: Pick<ModelFacts, 'contextTokens' | 'outputTokens'> | null
  readonly task: {
    readonly name: string
    /** Null in datasets of others. */
    readonly digest: string | null
    /** Where it was when it was run. */
    readonly path: string | null
  }
  /** How it was run; of a dataset whose job is not at hand, as far as it is told. */
  readonly settings: ReplaySettings
}

export interface FoundRow {
  readonly id: string
  readonly cannot: string | null
  /** A row that another one begins with: it holds as far as that one does. */
  readonly within?: { readonly row: string; readonly turns: number }
}

/** What decides how a trial runs. */
export type ReplaySettings = Pick<TrialConfig, 'agent' | 'environment' | 'timeoutMultipliers' | 'verifier'>

/** Whether something else than the agent ended its run, so that the agent would have asked for more. */
export function isCut({ end }: TrialRecord): boolean {
  return end.kind !== 'scored' || end.exit.kind === 'limit'
}

/** Why a row cannot be played although it is there. */
export const notReplayable = {
  noExchanges: 'its trial recorded no exchanges with the model, only a trajectory',
  readable: 'the row is in the readable form, not what the model was sent and replied',
  incomplete: 'other conversations of its trial are not in the dataset, and its job was not found',
  customAgent: (path: string) => `its agent is the file ${path}, which only its job may load; replay the job instead`,
} as const
