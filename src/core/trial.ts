import type { AgentExit, Usage } from './agent.ts'
import type { Boundary } from './errors.ts'
import type { TrialConfig } from './job.ts'
import type { Rewards } from './rewards.ts'
import type { Isolation, SandboxFacts } from './sandbox.ts'

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

export interface StepRecord {
  readonly name: string
  readonly rewards: Rewards | null
  readonly exit: AgentExit | null
  readonly failure: Failure | null
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly agentExecution: Span | null
  readonly verifier: Span | null
}

/** Everything that is known about one finished trial; written once. */
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
  /** True when both reward files existed, so that the precedence decided. */
  readonly bothRewardFiles: boolean
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly sandbox: SandboxFacts | null
  readonly spans: Readonly<Record<Phase, Span | null>>
  /** Null for a single-step task. */
  readonly steps: readonly StepRecord[] | null
  /** How many earlier tries of this trial failed and were retried. */
  readonly retries: number
  readonly startedAt: string
  readonly finishedAt: string
}

/** What happens to a trial, in this order; `trial-cancel` may come at any point. Harbor's names are START, ENVIRONMENT_START, ... */
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

/** Called for every event of every trial, one after the other; what it throws fails the trial. */
export type TrialHook = (event: TrialEvent) => Promise<void> | void
