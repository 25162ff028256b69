/** A task that a person has read, and its check results. The texts stay at their source. */
export interface LabeledTask {
  readonly pipeline: string
  /** Of the source's row. */
  readonly row: string
  /** Of the task's content. */
  readonly digest: string
  readonly label: 'good' | 'bad'
  /** What is wrong with a bad one. */
  readonly reason?: string
  /** The checks that failed, as reported by `tasks check`. */
  readonly failed: readonly string[]
}

export interface LawRates {
  readonly good: number
  readonly bad: number
  /** Share of the bad tasks that are rejected. */
  readonly caught: number
  /** Share of the good tasks that are rejected. */
  readonly lost: number
  /** Share of the rejected tasks that are bad. */
  readonly precision: number
}

/** The checks of instruction against tests. */
export const laws: readonly string[] = ['reference', 'stated', 'shallow']

/** How well checks tell good tasks from bad ones; `counts` selects the checks that reject. */
export function ratesOf(tasks: readonly LabeledTask[], counts: (check: string) => boolean): LawRates {
  const rejected = (task: LabeledTask) => (task.failed.some(counts) ? 1 : 0)
  return ratesBy(tasks, rejected)
}

/** The expected rates if a reviewer follows the checks and is wrong about this share of the tasks. */
export function ratesWithReviewer(tasks: readonly LabeledTask[], error: number): LawRates {
  return ratesBy(tasks, (task) => {
    if (task.failed.length > 0) return 1
    return task.label === 'bad' ? 1 - error : error
  })
}

/** `rejects` is the probability that a task is rejected. */
function ratesBy(tasks: readonly LabeledTask[], rejects: (task: LabeledTask) => number): LawRates {
  const of = (label: LabeledTask['label']) => tasks.filter((task) => task.label === label)
  const sum = (some: readonly LabeledTask[]) => some.reduce((all, task) => all + rejects(task), 0)
  const [good, bad] = [of('good'), of('bad')]
  return {
    ...{ good: good.length, bad: bad.length },
    caught: sum(bad) / bad.length,
    lost: sum(good) / good.length,
    precision: sum(bad) / (sum(bad) + sum(good)),
  }
}

export function parseLabels(text: string): LabeledTask[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LabeledTask)
}
