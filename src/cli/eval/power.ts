import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { predictComparison } from '../../app/evaluate.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { UserError } from '../../core/errors.ts'
import { printJson, printTable } from '../output.ts'
import { percentage } from './options.ts'

/** `ot-agent eval power`: what a comparison can detect, before running it. */
export default () =>
  new Command()
    .description(
      'Predicts the smallest difference that a comparison of two runs detects 80 % of the time, and how many tasks or ' +
        'attempts it takes to detect a given difference.\n' +
        'The numbers come from one pilot job, from two (which also show how much the runs agree on which tasks are hard), or ' +
        'from the options.',
    )
    .argument('[pilot...]', 'one or two finished jobs')
    .option('-o, --jobs-dir <dir>', 'where to look up names without a path', 'jobs')
    .option('--rate <percent>', 'mean reward of each run, in percent', percentage)
    .option('--tasks <n>', 'tasks of the benchmark', wholeNumber(2))
    .option('-k, --attempts <n>', 'attempts at each task', wholeNumber(1))
    .option('--clustering <share>', 'share of the reward variance that is between tasks, from 0 to 1', share)
    .option('--correlation <share>', 'how much both runs agree on which tasks are hard, from 0 to 1', share)
    .option('--effect <points>', 'the difference to detect, in percentage points', percentage)
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json, ...options }) => {
      if (given.length > 2)
        throw new UserError(`expected at most two pilot jobs, got ${given.length}`, 'remove the others')
      const pilots: string[] = []
      for (const name of given) pilots.push((await findJob(name, jobsDir)).dir)
      const found = await predictComparison(options, pilots)
      if (json) return printJson(found)
      const { design, sources, forEffect } = found
      printTable(
        ['assumption', 'value', 'from'],
        Object.entries(design).map(([name, value]) => [
          name,
          String(Number(value.toFixed(3))),
          sources[name as keyof typeof sources],
        ]),
      )
      const lines = [
        '',
        `The standard error of one score will be ${inPoints(found.scoreError)} points, and that of a paired difference ${inPoints(found.differenceError)}.`,
        `Detectable ${found.power * 100} % of the time: a difference of ${inPoints(found.detectableEffect)} points.`,
        ...(forEffect === null ? [] : effectLines(forEffect)),
      ]
      process.stdout.write(`${lines.join('\n')}\n`)
    })

function effectLines({ effect, power, requiredTasks, requiredAttempts }: ForEffect): string[] {
  const tasks = requiredTasks === null ? 'no number of tasks is enough' : `${requiredTasks} tasks are enough`
  const attempts =
    requiredAttempts === null
      ? 'more attempts at these tasks are not enough'
      : `or ${requiredAttempts} attempts at each of these tasks`
  return [
    `A difference of ${inPoints(effect)} points is detected ${(power * 100).toFixed(0)} % of the time.`,
    `To detect it in 80 %, ${tasks}; ${attempts}.`,
  ]
}

type ForEffect = NonNullable<Awaited<ReturnType<typeof predictComparison>>['forEffect']>

function inPoints(value: number): string {
  return (value * 100).toFixed(1)
}

function share(text: string): number {
  const value = Number(text)
  if (!/^\d*\.?\d+$/.test(text) || value > 1)
    throw new InvalidArgumentError(`expected a number from 0 to 1, got ${JSON.stringify(text)}`)
  return value
}
