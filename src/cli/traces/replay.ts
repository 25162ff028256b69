import { Command } from '@commander-js/extra-typings'
import { passEnvFlag, several, wholeNumber } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { jobPath } from '../../app/jobs/find-job.ts'
import { findTrials } from '../../app/replay/find-trials.ts'
import { performReplay, type ReplayedRow } from '../../app/replay/perform-replay.ts'
import { sandboxNamed, settingsFor } from '../../app/replay/settings-for.ts'
import { summarize } from '../../app/replay/summary.ts'
import { oneLine, visible } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'
import { jobsDirOption } from './options.ts'

/** Further divergences are only counted. */
const shownLimit = 20

/** `ot-agent traces replay`: checks that a recorded conversation happens again when replayed. */
export default () =>
  new Command()
    .description(
      'Plays the recorded replies of rows back to the same agent, on the same task in a fresh sandbox, and compares every ' +
        'message the agent sends with the recorded one. Calls no model. Only clocks, durations and random names may differ.\n' +
        'Exits with 3 when the replay of a row diverges.',
    )
    .argument('<path>', 'a dataset (a directory or a file of rows), a job, a trial, or a directory of jobs')
    .addOption(jobsDirOption())
    .option('--sample <n>', 'replay about this many rows, from trials chosen at random', wholeNumber(1))
    .option('--seed <n>', 'seed for choosing the sample', wholeNumber(0), 0)
    .option('-n, --n-concurrent <n>', 'trials to run at the same time', wholeNumber(1), 2)
    .option('-e, --environment <name>', 'use another kind of sandbox than the recorded one')
    .option(
      '--ak, --agent-kwarg <key=value>',
      'an option of the agent, for a dataset that does not record it; repeatable',
      several,
    )
    .option('--tasks <path>', 'folder with the tasks, if they have moved')
    .option(...passEnvFlag)
    .option('--verify', 'also run the tests, and compare the rewards')
    .option('-q, --quiet', 'do not print progress')
    .option('--json', 'print the result as JSON')
    .action(
      async (
        given,
        { jobsDir, sample, seed, nConcurrent, environment, agentKwarg = [], tasks, verify = false, ...how },
      ) => {
        const { quiet, json, passEnv } = how
        const path = await jobPath(given, jobsDir)
        const kwargs = parsedAssignments('--ak', agentKwarg)
        const interrupt = interruptSignal()
        try {
          const { signal } = interrupt
          const { trials, packed } = await findTrials(
            path,
            { rows: sample ?? null, seed },
            { settingsOf: (row, run) => settingsFor({ name: row.agent, model: row.model }, kwargs, run), signal },
          )
          const total = trials.reduce((sum, trial) => sum + trial.rows.length, 0)
          const tick = quiet ? () => {} : makeTicker()
          const rows = await performReplay({
            ...{ trials, packed, folder: tasks, nConcurrent, verify, passEnv, signal },
            environment: environment === undefined ? undefined : sandboxNamed(environment),
            onRow: (done) => tick(`${done} of ${total} rows replayed`),
          })
          if (json) printJson({ schema: 'replay/1', path, ...summarize(rows), rows })
          else report(rows)
          if (rows.some(({ verdict }) => verdict.kind !== 'holds')) process.exitCode = 3
        } finally {
          interrupt.stop()
        }
      },
    )

function report(rows: readonly ReplayedRow[]): void {
  const troubles = rows.filter(({ verdict }) => verdict.kind !== 'holds')
  for (const row of troubles.slice(0, shownLimit)) process.stdout.write(`${linesOf(row).join('\n')}\n`)
  if (troubles.length > shownLimit)
    process.stdout.write(`and ${troubles.length - shownLimit} more; --json lists them\n`)
  const { counts, versions, rewards } = summarize(rows)
  const { holds, diverged, cannot } = counts
  for (const line of versions) note(line)
  if (rewards.compared > 0) note(`${rewards.same} of ${rewards.compared} rewards are the same`)
  const rest = [diverged > 0 ? `${diverged} diverged` : '', cannot > 0 ? `${cannot} cannot be replayed` : '']
  process.stdout.write(`${[`${holds} of ${rows.length} rows hold`, ...rest.filter(Boolean)].join(', ')}\n`)
}

/** Renders a replayed row. Its text comes from the agent and the task, so it is never sent to the terminal raw. */
function linesOf({ id, verdict }: ReplayedRow): string[] {
  if (verdict.kind === 'cannot-be-replayed') return [`${oneLine(id)}: cannot be replayed: ${oneLine(verdict.reason)}`]
  if (verdict.kind === 'holds') return []
  const { turn, message, what, expected, got } = verdict
  const where = message === null ? `turn ${turn}` : `turn ${turn}, message ${message}`
  return [
    `${oneLine(id)}: diverged at ${where}: ${oneLine(what)}`,
    `  expected: ${shown(expected)}`,
    `  received: ${shown(got)}`,
  ]
}

function shown(text: string): string {
  return visible(text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t'))
}
