import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { attemptsOf, rateOf, ratesByLevel } from '../bench/lib/level-rates.ts'
import { operationNames } from '../data/terminal-composer/compose/compose-task.ts'
import { domains, unseen } from '../studies/recipe.ts'

test('students with enough traces fail harder tasks more often, and every kind that is easy whatever its input almost never', () => {
  for (const variant of ['traces-3160', 'traces-7423']) {
    const attempts = attemptsOf('traces', variant, { domains })
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

test('docs/results.md says how often tasks with more conditions and faults are solved', () => {
  const operations = operationNames.filter((name) => !unseen.includes(name))
  const attempts = attemptsOf('more', '20000', { domains, operations })
  const most = Math.max(...attempts.map(({ additions }) => additions))
  const rates = Array.from({ length: most + 1 }, (_, additions) =>
    rateOf(attempts.filter((own) => own.additions === additions)),
  )
  const page = readFileSync('docs/results.md', 'utf8')
  expect(page).toContain(`| solved | ${rates.map(({ rate }) => `${Math.round(100 - 100 * rate)} %`).join(' | ')} |`)
  expect(page).toContain(`| trials | ${rates.map(({ tried }) => tried).join(' | ')} |`)
  for (const { failed, tried } of ratesByLevel(attempts)) expect(page).toContain(`(${tried - failed} of ${tried})`)
})
