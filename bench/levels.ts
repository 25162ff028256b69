import { domains } from '../studies/recipe.ts'
import { attemptsOf, ratesByLevel } from './lib/level-rates.ts'
import type { Row } from './lib/rows.ts'

const variants = ['traces-316', 'traces-1000', 'traces-3160', 'traces-7423']

/**
 * Whether more difficult composed tasks fail more often for weaker models: the students of study a. Counts stored
 * outcomes; nothing runs.
 */
export default {
  name: 'levels',
  async run(): Promise<Row[]> {
    return variants.flatMap((variant) => {
      const rates = ratesByLevel(attemptsOf('traces', variant, { domains }))
      return rates.map(({ level, rate, tried }, i) => ({
        name: `failed by students of ${variant.replace('traces-', '')} traces, ${level}, of ${tried}`,
        value: 100 * rate,
        unit: '%',
        ...(i > 0 && { goal: 'more than the level before', ok: rate > (rates[i - 1]?.rate ?? 0) }),
      }))
    })
  },
}
