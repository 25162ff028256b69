import { expect, test } from 'vitest'
import { betaRates, makeSimulation } from '../../test/simulated-runs.ts'
import {
  detectableEffect,
  differenceError,
  pilotCorrelation,
  pilotOf,
  powerOf,
  requiredAttempts,
  requiredTasks,
  scoreError,
  usualDesign,
} from './power.ts'

const tb2 = { ...usualDesign, tasks: 89, attempts: 5 }

test('the usual design gives the errors that were measured on Terminal-Bench 2.0', () => {
  expect(scoreError(tb2)).toBeGreaterThan(0.034)
  expect(scoreError(tb2)).toBeLessThan(0.047)
  expect(differenceError(tb2)).toBeGreaterThan(0.023)
  expect(differenceError(tb2)).toBeLessThan(0.027)
})

test('the detectable effect is (t + t) standard errors, by hand', () => {
  const design = { rate: 0.5, clustering: 0, correlation: 0, tasks: 101, attempts: 1 }
  expect(differenceError(design)).toBeCloseTo(Math.sqrt(0.5 / 101), 12)
  expect(detectableEffect(design)).toBeCloseTo((1.984 + 0.8452) * Math.sqrt(0.5 / 101), 3)
  expect(powerOf(detectableEffect(design), design)).toBeCloseTo(0.8, 9)
  expect(powerOf(0, design)).toBeCloseTo(0.025, 9)
  expect(detectableEffect({ ...design, tasks: 1 })).toBe(Number.POSITIVE_INFINITY)
})

test('required tasks and attempts are the least that detect the effect', () => {
  const tasks = requiredTasks(0.05, tb2)!
  expect(detectableEffect({ ...tb2, tasks })).toBeLessThanOrEqual(0.05)
  expect(detectableEffect({ ...tb2, tasks: tasks - 1 })).toBeGreaterThan(0.05)
  const attempts = requiredAttempts(0.08, { ...tb2, correlation: 1 })!
  expect(detectableEffect({ ...tb2, correlation: 1, attempts })).toBeLessThanOrEqual(0.08)
  expect(requiredAttempts(0.01, tb2)).toBeNull()
})

test('a pilot tells the rate, the clustering and the correlation that made it', () => {
  const simulation = makeSimulation(4)
  const rates = betaRates(0.3, 0.6)
  const tasks = simulation.tasks(3000)
  const [first, second] = [simulation.run(tasks, rates, 4), simulation.run(tasks, rates, 4)]
  expect(pilotOf(first)?.rate).toBeCloseTo(0.3, 1)
  expect(pilotOf(first)?.clustering).toBeCloseTo(0.6, 1)
  expect(pilotCorrelation(first, second)).toBeCloseTo(1, 1)
  const others = simulation.run(simulation.tasks(3000), rates, 4)
  expect(pilotCorrelation(first, others)).toBeLessThan(0.1)
})

test('one attempt tells nothing about clustering, and one task nothing at all', () => {
  const run = (...rewards: number[][]) => new Map(rewards.map((each, i) => [`t${i}`, each]))
  expect(pilotOf(run([1], [0], [1]))).toEqual({ rate: 3 / 5, clustering: null })
  expect(pilotOf(run([1], [1], [1]))?.rate).toBe(4 / 5)
  expect(pilotOf(run([1, 1], [0, 0]))).toEqual({ rate: 0.5, clustering: 1 })
  expect(pilotOf(run([1, 0, 1]))).toBeNull()
  expect(pilotCorrelation(run([0, 0], [0, 0], [0, 0]), run([1, 1], [0, 0], [1, 0]))).toBeNull()
})
