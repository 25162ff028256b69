import type { AgentExit } from './agent.ts'
import type { Failure, Span, StepRecord, TrialRecord } from './trial.ts'

/** How a trial that did not simply finish appears in tools that only know exceptions. */
export interface TrialException {
  /** Python-style class name. */
  readonly type: string
  readonly message: string
  readonly traceback: string
  /** UTC. */
  readonly occurredAt: string
}

/**
 * The exception of a trial, or null. A limit that stopped the agent of one step belongs to that step, not to the trial.
 */
export function exceptionOf(record: TrialRecord): TrialException | null {
  const { end } = record
  if (end.kind === 'failed') return fromFailure(end.failure)
  if (end.kind === 'cancelled') return make('CancelledError', 'the trial was cancelled', record.finishedAt)
  if (record.steps !== null) return null
  return fromExit(end.exit, record.spans.agentExecution, record.finishedAt, 'AgentTimeoutError')
}

/** The exception of one step, where a time limit has a different name. */
export function exceptionOfStep(step: StepRecord, finishedAt: string): TrialException | null {
  if (step.failure) return fromFailure(step.failure)
  return step.exit && fromExit(step.exit, step.agentExecution, finishedAt, 'TimeoutError')
}

function fromFailure({ code, message, stack, occurredAt }: Failure): TrialException {
  return { type: code, message, traceback: stack, occurredAt }
}

function fromExit(exit: AgentExit, span: Span | null, finishedAt: string, timeout: string): TrialException | null {
  const at = span?.finishedAt ?? finishedAt
  if (exit.kind === 'exited') {
    return make('NonZeroAgentExitCodeError', `the agent exited with code ${exit.exitCode}`, at)
  }
  if (exit.kind !== 'limit') return null
  // Trainers recognize a conversation that outgrew its model by this name.
  if (exit.limit === 'context') {
    return make('ContextLengthExceededError', "the conversation outgrew the model's context", at)
  }
  if (exit.limit !== 'time') return null
  const took = span ? ` after ${seconds(span.startedAt, at)} seconds` : ''
  return make(timeout, `the agent ran out of time${took}`, at)
}

function make(type: string, message: string, occurredAt: string): TrialException {
  return { type, message, traceback: `${type}: ${message}\n`, occurredAt }
}

function seconds(from: string, to: string): string {
  return ((Date.parse(to) - Date.parse(from)) / 1000).toFixed(1)
}
