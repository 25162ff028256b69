import { readFileSync } from 'node:fs'
import { laws, parseLabels, ratesOf, ratesWithReviewer } from './lib/law-rates.ts'

/** A reviewer that is wrong about one task in twenty. */
const reviewerError = 0.05
const goals = { caught: 95, lost: 5 }

/** How well the checks tell good tasks from bad ones, by tasks that a person labeled. Counts stored outcomes; nothing runs. */
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
    const reviewed = ratesWithReviewer(tasks, reviewerError)
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
        name: `bad tasks rejected, with a reviewer of ${100 * reviewerError} % error`,
        value: 100 * reviewed.caught,
        unit: '%',
        goal: goals.caught,
        ok: reviewed.caught * 100 >= goals.caught,
      },
      {
        name: 'good tasks lost, with the same reviewer',
        value: 100 * reviewed.lost,
        unit: '%',
        goal: goals.lost,
        ok: reviewed.lost * 100 < goals.lost,
      },
    ]
  },
}
