import type { AgentExit, Usage } from './agent.ts'
import type { Boundary } from './errors.ts'
import type { TrialConfig } from './job.ts'
import type { Rewards } from './rewards.ts'
import type { Isolation, SandboxFacts } from './sandbox.ts'
import type { SystemChanges } from './system-files.ts'

/** The three ways a trial can end. An infrastructure failure is never a reward of 0. */
export type TrialEnd =
  /** `rewards` is null only when the job switched verification off. */
  | { readonly kind: 'scored'; readonly rewards: Rewards | null; readonly exit: AgentExit }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled' }

export interface Failure {
  readonly boundary: Boundary
  /** Python-style class name, as Harbor's tools show it. */
  readonly code: string
  readonly message: string
  readonly stack: string
  readonly retryable: boolean
  /** ISO time in UTC. */
  readonly occurredAt: string
}

export const phases = ['environmentSetup', 'agentSetup', 'agentExecution', 'verifier'] as const
export type Phase = (typeof phases)[number]

/** ISO times in UTC with microseconds. */
export interface Span {
  readonly startedAt: string
  readonly finishedAt: string | null
}

/** What an agent changed in the system that ran its tests, and whether that made a difference. */
export interface SystemReport {
  /** Restored to the image's versions while the tests ran. */
  readonly restored: SystemChanges
  /** The tests' result on the image's system; null when they gave none. */
  readonly onImage: Rewards | null
  /** Their result on the agent's system; absent if they did not run there. */
  readonly onAgent?: Rewards | null
  /** True: the lower of the two counted, and never a full reward. */
  readonly differ: boolean
}

export interface StepRecord {
  readonly name: string
  readonly rewards: Rewards | null
  readonly exit: AgentExit | null
  readonly failure: Failure | null
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly agentExecution: Span | null
  readonly verifier: Span | null
  /** Absent when no system file was restored. */
  readonly system?: SystemReport
}

/** What a resumed trial did with the replies recorded before it was interrupted. */
export type Resumed =
  /** They were replayed, and the model continued from there. What they originally cost is in the trial's usage. */
  | {
      readonly kind: 'replayed'
      readonly turns: number
      readonly inputTokens: number
      readonly cacheTokens: number
      readonly outputTokens: number
      /** Null when no price is known. */
      readonly costUsd: number | null
    }
  /**
   * A request differed from the recorded one, so the trial started over without them. Texts come from the agent or the
   * task: hostile.
   */
  | {
      readonly kind: 'diverged'
      /** How many were replayed before that. */
      readonly turns: number
      readonly step: string | null
      readonly turn: number
      readonly message: number | null
      readonly what: string
      readonly expected: string
      readonly got: string
    }
  /** They could not be used, so the trial started over. */
  | { readonly kind: 'not-replayed'; readonly reason: string }

/** Everything known about one finished trial; written once. */
export interface TrialRecord {
  readonly schema: 'trial/1'
  readonly id: string
  readonly name: string
  readonly task: {
    readonly name: string
    readonly path: string
    readonly source: string | null
    readonly digest: string
    readonly checksum: string
  }
  readonly agent: { readonly name: string; readonly version: string; readonly model: string | null }
  /** Which of the job's `n_attempts` this is, from 0. */
  readonly attempt: number
  readonly config: TrialConfig
  readonly end: TrialEnd
  readonly isolation: Isolation | null
  /** True when both reward files existed, so the precedence decided. */
  readonly bothRewardFiles: boolean
  /** Absent when no system file was restored, and for a task with steps: each step has its own. */
  readonly system?: SystemReport
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly sandbox: SandboxFacts | null
  readonly spans: Readonly<Record<Phase, Span | null>>
  /** Null for a single-step task. */
  readonly steps: readonly StepRecord[] | null
  /** How many earlier tries of this trial failed and were retried. */
  readonly retries: number
  /** Absent when no earlier attempt was interrupted after its first reply. */
  readonly resumed?: Resumed
  readonly startedAt: string
  readonly finishedAt: string
}

/**
 * The events of a trial, in this order; `trial-cancel` may come at any point. Harbor's names are START,
 * ENVIRONMENT_START, ...
 */
export type TrialEventName =
  | 'trial-start'
  | 'environment-start'
  | 'agent-start'
  | 'verification-start'
  | 'trial-end'
  | 'trial-cancel'

export interface TrialEvent {
  readonly event: TrialEventName
  readonly trialName: string
  readonly taskName: string
  readonly config: TrialConfig
  readonly timestamp: string
  readonly record?: TrialRecord
}

/** Called for every event of every trial, one at a time; an exception fails the trial. */
export type TrialHook = (event: TrialEvent) => Promise<void> | void

/** What a trial used; the sum of its steps when only they were counted. */
export function usageOf({ usage, steps }: Pick<TrialRecord, 'usage' | 'steps'>): Usage | null {
  const parts = (steps ?? []).flatMap((step) => step.usage ?? [])
  if (usage !== null || parts.length === 0) return usage
  const sum = (key: keyof Usage) =>
    parts.reduce<number | null>((total, part) => (part[key] === null ? total : (total ?? 0) + part[key]), null)
  return {
    inputTokens: sum('inputTokens'),
    cacheTokens: sum('cacheTokens'),
    outputTokens: sum('outputTokens'),
    costUsd: sum('costUsd'),
  }
}

/** A trial's end in one line. */
export function describeEnd(end: TrialEnd): string {
  if (end.kind === 'scored') return `scored ${JSON.stringify(end.rewards)}`
  if (end.kind === 'cancelled') return 'cancelled'
  return `failed at ${end.failure.boundary}: ${end.failure.code}: ${end.failure.message}`
}
