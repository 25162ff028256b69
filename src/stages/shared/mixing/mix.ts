import { z } from 'zod'
import type { WholeStage } from '../../../core/stage.ts'
import type { WholeInput } from '../../../core/whole-set.ts'
import { makeRandom, type Random } from '../../../lib/random.ts'
import { rowNumbers, saveChoice } from './choice.ts'

/** Options every mixer has. */
export const mixOptions = {
  /** The number of rows in the mix; by default as many as there are. */
  total: z.int().positive().optional(),
  /** Reuse a source's rows once all of them are taken, to reach its share. */
  upsample: z.boolean().default(false),
  order: z.enum(['shuffled', 'round-robin', 'one-after-another']).default('shuffled'),
}

export type MixOrder = z.output<typeof mixOptions.order>

/** How many rows each input gives. */
export type Shares = (inputs: readonly WholeInput[]) => readonly number[]

interface Mix {
  readonly shares: Shares
  readonly total?: number | undefined
  readonly upsample: boolean
  readonly order: MixOrder
}

/** A mixer that takes a seeded sample of each input and puts the rows in order. */
export function mixOf({ shares, total, upsample, order }: Mix): WholeStage {
  return {
    kind: 'mixer',
    takes: 'task',
    many: true,
    expect: (taken) => ({
      rows: total === undefined ? taken : taken === null || upsample ? total : Math.min(total, taken),
    }),
    async choose(inputs, at) {
      const wanted = shares(inputs)
      const picks: number[][] = []
      for (const [i, { stage, view }] of inputs.entries()) {
        const random = makeRandom(at.seed, `mix ${stage}`)
        picks.push(pickRows(await rowNumbers(at.sql, view), wanted[i] ?? 0, upsample, random))
      }
      const mixed = setInOrder(picks, order, at.seed)
      return saveChoice(
        at.sql,
        mixed.map((pick, position) => ({ ...pick, position })),
      )
    },
  }
}

interface Pick {
  readonly input: number
  readonly row: number
}

/** The given number of rows of an input: each as often as any other, give or take one. */
function pickRows(rows: readonly number[], wanted: number, upsample: boolean, random: Random): number[] {
  const picked: number[] = []
  while (picked.length < wanted && rows.length > 0) {
    picked.push(...random.sample(rows, Math.min(rows.length, wanted - picked.length)))
    if (!upsample) break
  }
  return picked
}

function setInOrder(picks: readonly (readonly number[])[], order: MixOrder, seed: number): readonly Pick[] {
  const lists = picks.map((rows, input) => rows.map((row) => ({ input, row })))
  if (order === 'one-after-another') return lists.flat()
  if (order === 'shuffled') return makeRandom(seed, 'order of the mix').shuffle(lists.flat())
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, i) => lists.map((list) => list[i]))
    .flat()
    .filter((pick) => pick !== undefined)
}

/**
 * A total split into whole parts in proportion to weights, none above its cap; remainders are assigned by largest
 * fraction.
 */
export function apportion(total: number, weights: readonly number[], caps: readonly number[]): number[] {
  const parts: number[] = weights.map(() => 0)
  let left = Math.min(
    total,
    caps.reduce((sum, cap) => sum + cap, 0),
  )
  while (left > 0) {
    const open = weights.map((weight, i) => ((parts[i] ?? 0) < (caps[i] ?? 0) ? weight : 0))
    const sum = open.reduce((a, b) => a + b, 0)
    if (sum <= 0) break
    const ideal = open.map((weight, i) => Math.min((caps[i] ?? 0) - (parts[i] ?? 0), (left * weight) / sum))
    const given = ideal.map(Math.floor)
    const sumOf = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
    const over = Math.max(sumOf(given) === 0 ? 1 : 0, Math.floor(sumOf(ideal) - sumOf(given) + 1e-9))
    const byRemainder = ideal.map((share, i) => ({ rest: share - Math.floor(share), i })).filter(({ rest }) => rest > 0)
    byRemainder.sort((a, b) => b.rest - a.rest || a.i - b.i)
    for (const { i } of byRemainder.slice(0, over)) given[i] = (given[i] ?? 0) + 1
    for (const [i, count] of given.entries()) parts[i] = (parts[i] ?? 0) + count
    left -= given.reduce((a, b) => a + b, 0)
  }
  return parts
}
