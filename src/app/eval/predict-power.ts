import { UserError } from '../../core/errors.ts'
import {
  type Design,
  detectableEffect,
  differenceError,
  pilotCorrelation,
  pilotOf,
  powerOf,
  requiredAttempts,
  requiredTasks,
  scoreError,
  usualDesign,
  usualPower,
} from '../../stats/power.ts'
import type { RunScore } from './score-job.ts'

type Maybe<T> = { readonly [K in keyof T]?: T[K] | undefined }

export interface PowerRequest extends Maybe<Design> {
  /** The difference of two scores to detect, for example 0.05. */
  readonly effect?: number | undefined
}

/** What a comparison of two runs can detect. */
export interface PowerPrediction {
  readonly schema: 'eval-power/1'
  readonly design: Design
  /** Where each number of the design comes from. */
  readonly sources: Readonly<Record<keyof Design, string>>
  /** The power that the numbers below are computed for. */
  readonly power: number
  /** Standard errors of one score and of a difference. */
  readonly scoreError: number
  readonly differenceError: number
  readonly detectableEffect: number
  /** Null if no effect was given. */
  readonly forEffect: {
    readonly effect: number
    readonly power: number
    /** Null if no number of tasks suffices. */
    readonly requiredTasks: number | null
    readonly requiredAttempts: number | null
  } | null
}

/** Predicts what a comparison can detect, from up to two pilot runs and given numbers; given numbers win. */
export function predictPower(request: PowerRequest, pilots: readonly RunScore[] = []): PowerPrediction {
  const found = fromPilots(pilots)
  const parts = { ...assumed, ...found, ...given(request) }
  const design = Object.fromEntries(Object.entries(parts).map(([name, [value]]) => [name, value])) as unknown as Design
  const sources = Object.fromEntries(
    Object.entries(parts).map(([name, [, source]]) => [name, source]),
  ) as PowerPrediction['sources']
  check(design, request.effect)
  const { effect } = request
  return {
    schema: 'eval-power/1',
    design,
    sources,
    power: usualPower,
    scoreError: scoreError(design),
    differenceError: differenceError(design),
    detectableEffect: detectableEffect(design),
    forEffect:
      effect === undefined
        ? null
        : {
            effect,
            power: powerOf(effect, design),
            requiredTasks: requiredTasks(effect, design),
            requiredAttempts: requiredAttempts(effect, design),
          },
  }
}

type Part = readonly [value: number, source: string]
type Parts = Partial<Record<keyof Design, Part>>

const assumed: Record<keyof Design, Part> = {
  rate: [usualDesign.rate, 'assumed'],
  clustering: [usualDesign.clustering, 'assumed, as measured on Terminal-Bench 2.0'],
  correlation: [usualDesign.correlation, 'assumed, as measured on Terminal-Bench 2.0'],
  tasks: [89, 'assumed'],
  attempts: [3, 'assumed'],
}

const names = ['rate', 'clustering', 'correlation', 'tasks', 'attempts'] as const

function given(request: PowerRequest): Parts {
  return Object.fromEntries(
    names.flatMap((name) => (request[name] === undefined ? [] : [[name, [request[name], 'given']]])),
  )
}

function fromPilots(pilots: readonly RunScore[]): Parts {
  const [first, second] = pilots
  if (first === undefined) return {}
  const rewards = rewardsOf(first)
  const pilot = pilotOf(rewards)
  if (pilot === null)
    throw new UserError(`${first.name}: expected at least two scored tasks, got ${rewards.size}`, 'use a larger pilot')
  const correlation = second === undefined ? null : pilotCorrelation(rewards, rewardsOf(second))
  const from = `pilot ${first.name}`
  const most = first.tasks.reduce((highest, { trials }) => Math.max(highest, trials), 0)
  return {
    rate: [pilot.rate, from],
    tasks: [first.tasks.length, from],
    attempts: [most, from],
    ...(pilot.clustering !== null && { clustering: [pilot.clustering, from] as const }),
    ...(correlation !== null && { correlation: [correlation, `${from} and ${second?.name}`] as const }),
  }
}

function rewardsOf({ tasks }: RunScore) {
  return new Map(tasks.flatMap(({ task, rewards }) => (rewards.length > 0 ? [[task, rewards] as const] : [])))
}

function check(design: Design, effect: number | undefined): void {
  const refuse = (name: string, expected: string, value: number) => {
    throw new UserError(
      `${name}: expected ${expected}, got ${value}`,
      'ot-agent eval power --help explains the numbers',
    )
  }
  for (const name of ['rate', 'clustering', 'correlation'] as const)
    if (!(design[name] >= 0 && design[name] <= 1)) refuse(name, 'a number from 0 to 1', design[name])
  for (const name of ['tasks', 'attempts'] as const)
    if (!Number.isInteger(design[name]) || design[name] < 1) refuse(name, 'a whole number of at least 1', design[name])
  if (design.tasks < 2) refuse('tasks', 'at least 2', design.tasks)
  if (effect !== undefined && !(effect > 0 && effect <= 1)) refuse('effect', 'a number above 0, at most 1', effect)
}
