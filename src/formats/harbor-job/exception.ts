import type { AgentExit } from '../../core/agent.ts'
import type { Failure, Span, StepRecord, TrialRecord } from '../../core/trial.ts'
import { renderLocal } from './times.ts'

/** What Harbor writes as `exception_info`. */
export interface HarborException {
  readonly type: string
  readonly message: string
  readonly traceback: string
  /** UTC. */
  readonly occurredAt: string
}

/** The exception Harbor would have recorded for a trial, or null. Harbor keeps the limits of steps at the steps. */
export function exceptionOf(record: TrialRecord): HarborException | null {
  const { end } = record
  if (end.kind === 'failed') return fromFailure(end.failure)
  if (end.kind === 'cancelled') return make('CancelledError', 'the trial was cancelled', record.finishedAt)
  if (record.steps !== null) return null
  return fromExit(end.exit, record.spans.agentExecution, record.finishedAt, 'AgentTimeoutError')
}

/** The same for one step, where Harbor's name for a time limit is another. */
export function exceptionOfStep(step: StepRecord, finishedAt: string): HarborException | null {
  if (step.failure) return fromFailure(step.failure)
  return step.exit && fromExit(step.exit, step.agentExecution, finishedAt, 'TimeoutError')
}

export function exceptionDocument(exception: HarborException | null): object | null {
  if (exception === null) return null
  return {
    exception_type: exception.type,
    exception_message: exception.message,
    exception_traceback: exception.traceback,
    occurred_at: renderLocal(exception.occurredAt),
  }
}

function fromFailure({ code, message, stack, occurredAt }: Failure): HarborException {
  return { type: code, message, traceback: stack, occurredAt }
}

function fromExit(exit: AgentExit, span: Span | null, finishedAt: string, timeout: string): HarborException | null {
  const at = span?.finishedAt ?? finishedAt
  if (exit.kind === 'exited')
    return make('NonZeroAgentExitCodeError', `the agent exited with code ${exit.exitCode}`, at)
  if (exit.kind !== 'limit' || exit.limit !== 'time') return null
  const took = span ? ` after ${seconds(span.startedAt, at)} seconds` : ''
  return make(timeout, `the agent ran out of time${took}`, at)
}

function make(type: string, message: string, occurredAt: string): HarborException {
  return { type, message, traceback: `${type}: ${message}\n`, occurredAt }
}

function seconds(from: string, to: string): string {
  return ((Date.parse(to) - Date.parse(from)) / 1000).toFixed(1)
}
