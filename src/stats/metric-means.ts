import type { Rewards } from '../core/rewards.ts'
import { type Interval, meanInterval } from './interval.ts'

/** One of the numbers that verifiers report, averaged over the tasks that have it. */
export interface MetricMean extends Interval {
  readonly name: string
  /** All tasks with rewards, including those that lack this one. */
  readonly ofTasks: number
}

export interface MetricTally {
  add(task: string, rewards: Rewards): void
  /** Sorted by name. */
  means(): MetricMean[]
}

/** Collects the rewards of trials by name and task. A task that lacks a metric does not count as 0. */
export function makeMetricTally(): MetricTally {
  const metrics = new Map<string, Map<string, number[]>>()
  const tasks = new Set<string>()
  return {
    add(task, rewards) {
      tasks.add(task)
      for (const [name, value] of Object.entries(rewards)) {
        const byTask = metrics.get(name) ?? new Map<string, number[]>()
        metrics.set(name, byTask)
        pushTo(byTask, task, value)
      }
    },
    means: () =>
      [...metrics]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([name, byTask]) => {
          const interval = meanInterval(byTask)
          return interval === null ? [] : [{ name, ofTasks: tasks.size, ...interval }]
        }),
  }
}

/** Adds a value to a list, creating the list if needed. */
export function pushTo(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
