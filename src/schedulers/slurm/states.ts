import type { JobState, ScheduledState } from '../../core/launch.ts'

/** Columns of squeue that `parseQueue` reads. */
export const queueFormat = '%F|%K|%T|%r'

/** Reads what `squeue --array` printed in that format. */
export function parseQueue(text: string): ScheduledState[] {
  return rowsOf(text).map(([id = '', task = '', state = '', reason = '']) => ({
    id,
    task: /^\d+$/.test(task) ? Number(task) : null,
    state: stateOf(state),
    reason: reason === 'None' ? state : `${state} ${reason}`,
  }))
}

/** Reads what `sacct -P -X -n -o JobID,State,ExitCode` printed. Its JSON says 0 for jobs that failed, so it is not used. */
export function parseAccounting(text: string): ScheduledState[] {
  return rowsOf(text).flatMap(([name = '', state = '', code = '']) => {
    const [, id, task] = /^(\d+)(?:_(\d+))?$/.exec(name) ?? []
    if (id === undefined) return []
    const [word = ''] = state.split(' ')
    return [{ id, task: task === undefined ? null : Number(task), state: stateOf(word), reason: `${state} ${code}` }]
  })
}

function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('|'))
}

const words: Readonly<Record<string, JobState>> = {
  PENDING: 'waiting',
  CONFIGURING: 'waiting',
  REQUEUED: 'waiting',
  REQUEUE_HOLD: 'waiting',
  REQUEUE_FED: 'waiting',
  SPECIAL_EXIT: 'waiting',
  RESV_DEL_HOLD: 'waiting',
  RUNNING: 'running',
  COMPLETING: 'running',
  SUSPENDED: 'running',
  SIGNALING: 'running',
  STAGE_OUT: 'running',
  STOPPED: 'running',
  RESIZING: 'running',
  COMPLETED: 'done',
  CANCELLED: 'cancelled',
  REVOKED: 'cancelled',
  TIMEOUT: 'resumable',
  PREEMPTED: 'resumable',
}

/** Everything else is a way to fail: FAILED, NODE_FAIL, OUT_OF_MEMORY, BOOT_FAIL, DEADLINE. */
function stateOf(word: string): JobState {
  return words[word] ?? 'failed'
}
