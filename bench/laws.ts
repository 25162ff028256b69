import { readFileSync } from 'node:fs'
import { type LawRates, laws, parseLabels, ratesOf, ratesWithReviewer } from './lib/law-rates.ts'

/**
 * Simulated reviewers, each wrong about this share of the good tasks and of the bad ones. No model has reviewed these
 * tasks.
 */
const reviewerErrors = [0.05, 0.03]
const goals = { caught: 95, lost: 5 }

/**
 * How well the checks tell good tasks from bad ones, measured on tasks that a person labeled. Counts stored outcomes;
 * nothing runs.
 */
export default {
  name: 'laws',
  async run() {
    const tasks = parseLabels(readFileSync('bench/labels/tasks.jsonl', 'utf8'))
    const isLaw = (check: string) => laws.includes(check)
    const before = ratesOf(tasks, (check) => !isLaw(check))
    // A task that the oracle already rejects says nothing about the laws.
    const sound = tasks.filter(({ failed }) => failed.every(isLaw))
    const alone = ratesOf(sound, isLaw)
    const all = ratesOf(tasks, () => true)
    return [
      { name: `bad tasks rejected without the laws, of ${all.bad}`, value: 100 * before.caught, unit: '%' },
      {
        name: `bad tasks that pass everything else and the laws reject, of ${alone.bad}`,
        value: 100 * alone.caught,
        unit: '%',
      },
      { name: `bad tasks rejected by all checks, of ${all.bad}`, value: 100 * all.caught, unit: '%' },
      {
        name: `good tasks lost to all checks, of ${all.good}`,
        value: 100 * all.lost,
        unit: '%',
        goal: goals.lost,
        ok: all.lost * 100 < goals.lost,
      },
      { name: 'rejected tasks that are bad', value: 100 * all.precision, unit: '%' },
      {
        name: 'good tasks that a reviewer may reject without missing the goal, computed',
        value: (goals.lost - 100 * all.lost) / (1 - all.lost),
        unit: '%',
      },
      ...reviewerErrors.flatMap((error) => reviewedRows(ratesWithReviewer(tasks, error), `${100 * error} %`)),
    ]
  },
}

function reviewedRows({ caught, lost }: LawRates, error: string) {
  return [
    {
      name: `bad tasks rejected, with a stand-in reviewer of ${error} error, computed`,
      value: 100 * caught,
      unit: '%',
      goal: goals.caught,
      ok: caught * 100 >= goals.caught,
    },
    {
      name: `good tasks lost, with a stand-in reviewer of ${error} error, computed`,
      value: 100 * lost,
      unit: '%',
      goal: goals.lost,
      ok: lost * 100 < goals.lost,
    },
  ]
}
