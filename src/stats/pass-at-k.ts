import type { Rewards } from '../core/rewards.ts'

interface Attempts {
  total: number
  passed: number
}

/** Counts attempts per task, so that pass@k is known without going through the trials again. */
export interface PassTally {
  /** Null for a trial without rewards: it did not pass. */
  add(taskName: string, rewards: Rewards | null): void
  /**
   * pass@k averaged over tasks, for each k for which every task has enough attempts; empty unless every trial has a
   * single reward of 0 or 1.
   */
  compute(): ReadonlyMap<number, number>
}

export function makePassTally(): PassTally {
  const tasks = new Map<string, Attempts>()
  let binary = true
  return {
    add(taskName, rewards) {
      const passed = rewards === null ? 0 : onlyReward(rewards)
      if (passed !== 0 && passed !== 1) {
        binary = false
        return
      }
      const attempts = tasks.get(taskName) ?? { total: 0, passed: 0 }
      tasks.set(taskName, attempts)
      attempts.total += 1
      attempts.passed += passed
    },
    compute() {
      if (!binary || tasks.size === 0) return new Map()
      const least = [...tasks.values()].reduce((few, { total }) => Math.min(few, total), Number.POSITIVE_INFINITY)
      return new Map(eligibleK(least).map((k) => [k, meanOver(tasks, k)]))
    },
  }
}

function onlyReward(rewards: Rewards): number | null {
  const values = Object.values(rewards)
  return values.length === 1 ? (values[0] ?? null) : null
}

/** The powers of 2 from 2, and the multiples of 5. */
function eligibleK(most: number): number[] {
  const ks = new Set<number>()
  for (let k = 2; k <= most; k *= 2) ks.add(k)
  for (let k = 5; k <= most; k += 5) ks.add(k)
  return [...ks].sort((a, b) => a - b)
}

function meanOver(tasks: ReadonlyMap<string, Attempts>, k: number): number {
  let sum = 0
  for (const { total, passed } of tasks.values()) sum += passAtK(total, passed, k)
  return sum / tasks.size
}

/** The unbiased estimate of the chance that at least one of `k` attempts passes, given `passed` of `total`. */
export function passAtK(total: number, passed: number, k: number): number {
  if (total - passed < k) return 1
  let allFail = 1
  for (let i = 0; i < k; i++) allFail *= (total - passed - i) / (total - i)
  return 1 - allFail
}

/** The unbiased estimate of the chance that all of `k` attempts pass, given `passed` of `total`: pass^k. */
export function passHatK(total: number, passed: number, k: number): number {
  let allPass = 1
  for (let i = 0; i < k; i++) allPass *= Math.max(0, passed - i) / (total - i)
  return allPass
}
