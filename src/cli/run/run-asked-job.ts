import { renderJudge } from '../../app/job/judge.ts'
import { type JobStart, type JobToRun, type PerformedJob, performJob } from '../../app/job/perform-job.ts'
import type { Denominators } from '../../core/job-stats.ts'
import { nearPath } from '../../lib/files.ts'
import { shellQuote } from '../../lib/shell.ts'
import { interruptSignal } from '../interrupt.ts'
import type { Screen } from '../output.ts'
import { note, printJson, printTable } from '../output.ts'
import { makeProgress, renderNoValidReply, renderPassAtK } from '../progress/progress.ts'
import { makeTally } from '../progress/tally.ts'
import { confirmAtTerminal } from './confirm.ts'
import { writeOutputFile } from './output-file.ts'

/** How a command wants its job shown. */
export interface Showing {
  readonly quiet: boolean
  readonly json: boolean
  /** Prints a line for each trial, however many there are. */
  readonly verbose?: boolean
  /** Also writes the result to this file. */
  readonly output?: string
}

/** Runs a job for a person or a script: checks, progress, Ctrl-C, the result on stdout, the exit code. */
export async function runAskedJob(asked: JobToRun, showing: Showing): Promise<void> {
  const interrupt = interruptSignal()
  try {
    const watch = showTrials(showing)
    const { signal } = interrupt
    const outcome = await performJob(asked, { notify: note, watch, signal, confirm: confirmAtTerminal() })
    await reportOutcome(outcome, { ...showing, interrupted: interrupt.signal.aborted })
    if (outcome.stoppedByBudget)
      note('stopped: the budget is used up; run the command again with a larger budget to finish')
    process.exitCode = exitCodeOf(outcome, interrupt.signal.aborted)
  } finally {
    interrupt.stop()
  }
}

/** Shows the progress of a job's trials, on stderr unless given another screen. */
function showTrials({ quiet, verbose = false }: Pick<Showing, 'quiet' | 'verbose'>, screen: Screen = process.stderr) {
  return ({ job, liveStats }: JobStart) => makeProgress(makeTally(job.plan.length, liveStats), screen, quiet, verbose)
}

/** 0 if every trial was scored, 3 if some failed or the budget ran out first, 130 if the job was stopped. */
function exitCodeOf({ liveStats, stoppedByBudget }: PerformedJob, interrupted: boolean): number {
  if (interrupted) return 130
  return liveStats.denominators().failed > 0 || stoppedByBudget ? 3 : 0
}

interface Shown {
  readonly json: boolean
  readonly interrupted: boolean
  readonly output?: string
}

/** Prints a job's outcome: a table for people, one document for machines. */
async function reportOutcome(outcome: PerformedJob, { json, interrupted, output }: Shown): Promise<void> {
  const { judge } = outcome
  const document = outcomeDocument(outcome, interrupted)
  if (output !== undefined) await writeOutputFile(output, `${JSON.stringify(document, null, 2)}\n`)
  if (json) printJson(document)
  else await printOutcome(outcome)
  if (!json && judge) note(renderJudge(judge))
}

async function printOutcome(outcome: PerformedJob): Promise<void> {
  const groups = [...outcome.liveStats.groups()]
  const rows = groups.map(([name, ends]) => [name, ...cellsOf(ends, outcome.result.stats.evals.get(name)?.passAtK)])
  printTable(['agent, model, dataset', 'trials', 'scored', 'mean', 'mean of all', 'failed', 'pass@k'], rows)
  const { pending, cancelled, evals } = outcome.result.stats
  for (const { exceptionStats } of evals.values()) {
    for (const [code, names] of exceptionStats) note(`${code}: ${someOf(names)}`)
  }
  const [[failed] = []] = [...evals.values()].flatMap(({ exceptionStats }) => [...exceptionStats.values()])
  const lost = renderNoValidReply(outcome.liveStats.denominators())
  if (lost !== null) note(lost)
  if (pending + cancelled > 0)
    note(`${pending + cancelled} trials have not run yet; run the same command again to resume the job`)
  note(`results in ${outcome.job.dir}`)
  if (failed === undefined) return
  const { programName } = await import('../../lib/program-name.ts')
  const words = ['jobs', 'show', nearPath(outcome.job.dir), '--trial', failed].map(shellQuote)
  note(`why a trial failed: ${programName()} ${words.join(' ')}`)
}

function someOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}

function cellsOf(ends: Denominators, passAtK: ReadonlyMap<number, number> = new Map()): string[] {
  const failures = Object.entries(ends.failedByBoundary).map(([boundary, count]) => `${boundary} ${count}`)
  return [
    String(ends.trials),
    String(ends.scored),
    ends.meanOverScored?.toFixed(3) ?? '-',
    ends.meanOverAll?.toFixed(3) ?? '-',
    failures.join(', ') || '-',
    renderPassAtK(passAtK),
  ]
}

function outcomeDocument(outcome: PerformedJob, interrupted: boolean): object {
  const { job, result, liveStats, resumed, judge } = outcome
  const { stats } = result
  const groups = liveStats.groups()
  return {
    schema: 'job-summary/1',
    jobDir: job.dir,
    jobName: job.config.jobName,
    jobId: job.id,
    continued: job.continued,
    interrupted,
    finished: result.finishedAt !== null,
    totalTrials: result.totalTrials,
    pending: stats.pending,
    retries: stats.retries,
    ends: liveStats.denominators(),
    usage: {
      inputTokens: stats.inputTokens,
      cacheTokens: stats.cacheTokens,
      outputTokens: stats.outputTokens,
      costUsd: stats.costUsd,
    },
    judge,
    resumed,
    evals: Object.fromEntries(
      [...stats.evals].map(([name, group]) => [
        name,
        {
          metrics: group.metrics.map((metric) => Object.fromEntries(metric)),
          passAtK: Object.fromEntries(group.passAtK),
          exceptions: Object.fromEntries(group.exceptionStats),
          ends: groups.get(name) ?? null,
        },
      ]),
    ),
  }
}
