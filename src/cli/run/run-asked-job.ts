import { type JobStart, type JobToRun, type PerformedJob, performJob } from '../../app/job/perform-job.ts'
import type { Screen } from '../guard-output.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { makeProgress } from '../progress/progress.ts'
import { makeTally } from '../progress/tally.ts'
import { confirmAtTerminal } from './confirm.ts'
import { reportOutcome } from './report.ts'

/** How a command wants its job to be shown. */
export interface Showing {
  readonly quiet: boolean
  readonly json: boolean
  /** A line for each trial, however many there are. */
  readonly verbose?: boolean
  /** A file for the result, beside stdout. */
  readonly output?: string
}

/** Runs a job in front of a person or a script: checks, progress, Ctrl-C, the result on stdout, the exit code. */
export async function runAskedJob(asked: JobToRun, showing: Showing): Promise<void> {
  const interrupt = interruptSignal()
  try {
    const watch = showTrials(showing)
    const { signal } = interrupt
    const outcome = await performJob(asked, { notify: note, watch, signal, confirm: confirmAtTerminal() })
    await reportOutcome(outcome, { ...showing, interrupted: interrupt.signal.aborted })
    if (outcome.stoppedByBudget) note('stopped by the budget, which is spent; run it again with a larger one to finish')
    process.exitCode = exitCodeOf(outcome, interrupt.signal.aborted)
  } finally {
    interrupt.stop()
  }
}

/** Shows the progress of a job's trials, on stderr unless another screen is given. */
export function showTrials(
  { quiet, verbose = false }: Pick<Showing, 'quiet' | 'verbose'>,
  screen: Screen = process.stderr,
) {
  return ({ job, liveStats }: JobStart) => makeProgress(makeTally(job.plan.length, liveStats), screen, quiet, verbose)
}

/** 0 when every trial was scored, 3 when some failed or the budget was spent first, 130 when the job was stopped. */
function exitCodeOf({ liveStats, stoppedByBudget }: PerformedJob, interrupted: boolean): number {
  if (interrupted) return 130
  return liveStats.denominators().failed > 0 || stoppedByBudget ? 3 : 0
}
