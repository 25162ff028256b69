import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '../../core/task.ts'
import type { Failure, TrialRecord } from '../../core/trial.ts'
import { failureOf } from '../trial/boundary.ts'
import type { CheckRequest } from './check-request.ts'
import { type Check, judgeFailedStart } from './verdict.ts'
import { withSandbox } from './with-sandbox.ts'

/** Checks whether a task's environment starts, and what a reader should know about it. Runs no agent and no tests. */
export async function checkStart(
  task: Task,
  request: CheckRequest,
  dir: string,
): Promise<{ readonly start: Check; readonly notes: readonly string[] }> {
  for (let nth = 1; ; nth++) {
    try {
      const notes = await withSandbox(task, request, dir, async ({ facts }) => facts.notes)
      return { start: { name: 'start', outcome: 'ok', reasons: [] }, notes }
    } catch (error) {
      request.signal.throwIfAborted()
      const failure = failureOf(error)
      if (!mayRetry(nth, failure, request)) return { start: judgeFailedStart(failure), notes: [] }
      await pause(nth, request.signal)
    }
  }
}

/** Runs the first trial of a task; if its sandbox did not start for a reason outside the task, runs it again. */
export async function firstTrial(
  request: Pick<CheckRequest, 'retries' | 'signal'>,
  run: (name: string) => Promise<TrialRecord>,
): Promise<TrialRecord> {
  for (let nth = 1; ; nth++) {
    const record = await run(nth === 1 ? '1' : `1-again-${nth - 1}`)
    const { end, sandbox } = record
    if (sandbox !== null || end.kind !== 'failed' || !mayRetry(nth, end.failure, request)) return record
    await pause(nth, request.signal)
  }
}

function mayRetry(nth: number, failure: Failure, { retries = 0 }: Pick<CheckRequest, 'retries'>): boolean {
  return nth <= retries && failure.retryable && judgeFailedStart(failure).outcome === 'unknown'
}

/** An outage needs time to pass: waits 1 second, then 2, 4 and so on, at most 30. */
async function pause(nth: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(1000 * 2 ** (nth - 1), 30_000), undefined, { signal })
}
