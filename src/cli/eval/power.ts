import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { predictComparison } from '../../app/evaluate.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { UserError } from '../../core/errors.ts'
import { printJson, printTable } from '../output.ts'
import { percentage } from './options.ts'

/** `ot-agent eval power`: what a comparison can detect, before it is run. */
export default () =>
  new Command()
    .description(
      'Predicts the least difference that a comparison of two runs detects in 80 % of the cases, and what it takes to detect one that you\n' +
        'name. The numbers come from a pilot job, from two (which also tell how far they find the same tasks hard), or from the options.',
    )
    .argument('[pilot...]', 'one or two finished jobs')
    .option('-o, --jobs-dir <dir>', 'where bare names are looked up', 'jobs')
    .option('--rate <percent>', 'mean reward of either run', percentage)
    .option('--tasks <n>', 'tasks of the benchmark', wholeNumber(2))
    .option('-k, --attempts <n>', 'attempts at each task', wholeNumber(1))
    .option('--clustering <share>', "share of a reward's variance that lies between tasks, from 0 to 1", share)
    .option('--correlation <share>', 'how far both runs find the same tasks hard, from 0 to 1', share)
    .option('--effect <points>', 'a difference to detect, in points of 100', percentage)
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json, ...options }) => {
      if (given.length > 2)
        throw new UserError(`expected at most two pilot jobs, got ${given.length}`, 'leave the others out')
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
        `One score will have a standard error of ${inPoints(found.scoreError)} points, a paired difference one of ${inPoints(found.differenceError)}.`,
        `Detectable in ${found.power * 100} % of the cases: a difference of ${inPoints(found.detectableEffect)} points.`,
        ...(forEffect === null ? [] : effectLines(forEffect)),
      ]
      process.stdout.write(`${lines.join('\n')}\n`)
    })

function effectLines({ effect, power, requiredTasks, requiredAttempts }: ForEffect): string[] {
  const tasks = requiredTasks === null ? 'no number of tasks suffices' : `${requiredTasks} tasks suffice`
  const attempts =
    requiredAttempts === null
      ? 'more attempts at these tasks are not enough'
      : `so do ${requiredAttempts} attempts at each of these tasks`
  return [
    `A difference of ${inPoints(effect)} points is detected in ${(power * 100).toFixed(0)} % of the cases.`,
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
