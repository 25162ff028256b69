import { expect, test } from 'vitest'
import { attemptsOf, rateOf, ratesByLevel } from '../bench/lib/level-rates.ts'
import { domains } from '../studies/recipe.ts'

test('students with enough traces fail harder tasks more often, and every kind that is easy whatever its input almost never', () => {
  for (const variant of ['traces-3160', 'traces-7423']) {
    const attempts = attemptsOf('traces', variant, domains)
    const [easy, medium, hard] = ratesByLevel(attempts).map(({ rate }) => rate)
    expect(rateOf(attempts).tried).toBe(600)
    expect(easy).toBeLessThan(medium ?? 0)
    expect(medium).toBeLessThan(hard ?? 0)
    const simple = attempts.filter(({ operation }) =>
      ['join-parts', 'missing-days', 'remove-copies', 'links-to-copies'].includes(operation),
    )
    expect(new Set(simple.map(({ level }) => level))).toEqual(new Set(['easy']))
    expect(rateOf(simple).rate).toBeLessThan(0.05)
  }
})
