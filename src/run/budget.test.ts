import { expect, test } from 'vitest'
import type { BudgetLimits, Charge } from '../core/budget.ts'
import { makeBudget } from './budget.ts'

const unlimited: BudgetLimits = { costUsd: null, tokens: null, requests: null, wallSec: null }
const nothing = { costUsd: 0, tokens: 0, requests: 0, wallSec: 0 }
const charge: Charge = {
  model: 'm',
  usage: { inputTokens: 60, cacheTokens: 0, outputTokens: 40 },
  costUsd: 0.4,
  requests: 1,
}

test('without limits every request is allowed', () => {
  const budget = makeBudget({ limits: unlimited, spentBefore: nothing })
  const account = budget.account('a')
  for (let i = 0; i < 100; i++) {
    expect(account.admit()).toBeNull()
    account.charge(charge)
  }
  expect(budget.spent()).toMatchObject({ requests: 100, tokens: 10_000 })
})

test('requests never exceed their limit, however many trials ask', () => {
  const budget = makeBudget({ limits: { ...unlimited, requests: 5 }, spentBefore: { ...nothing, requests: 2 } })
  const accounts = Array.from({ length: 10 }, (_, i) => budget.account(`t${i}`))
  expect(accounts.map((account) => account.admit())).toEqual([null, null, null, ...Array(7).fill('5 requests')])
})

test.each([
  [{ costUsd: 1 }, '1 USD', 3],
  [{ tokens: 200 }, '200 tokens', 2],
])('%j is spent after calls in flight have been paid', (limit, words, calls) => {
  const told: string[] = []
  const budget = makeBudget({
    limits: { ...unlimited, ...limit },
    spentBefore: nothing,
    onSpent: (spent) => told.push(spent),
  })
  const account = budget.account('a')
  for (let i = 0; i < calls; i++) {
    expect(account.admit()).toBeNull()
    account.charge(charge)
  }
  expect(account.admit()).toBe(words)
  expect(budget.spentUp()).toBe(words)
  account.charge(charge)
  expect(told).toEqual([words])
})

test('time continues from that of earlier runs', () => {
  let now = 0
  const limits = { ...unlimited, wallSec: 100 }
  const budget = makeBudget({ limits, spentBefore: { ...nothing, wallSec: 90 }, now: () => now })
  expect(budget.spentUp()).toBeNull()
  now = 10_000
  expect(budget.spentUp()).toBe('100 s')
})

test('a job that has spent everything stays stopped, and every charge reaches the ledger with its trial', () => {
  const limits = { ...unlimited, tokens: 50 }
  expect(
    makeBudget({ limits, spentBefore: { ...nothing, tokens: 50 } })
      .account('a')
      .admit(),
  ).toBe('50 tokens')
  const lines: unknown[] = []
  const budget = makeBudget({ limits, spentBefore: nothing, book: (...line) => lines.push(line) })
  budget.account('a').charge(charge)
  budget.account(null, 'judge').charge(charge)
  expect(lines).toEqual([
    ['a', charge, undefined],
    [null, charge, 'judge'],
  ])
})

test('only a limit on money needs prices', () => {
  const needs = (limits: BudgetLimits) => makeBudget({ limits, spentBefore: nothing }).account('a').needsPrices
  expect(needs({ ...unlimited, costUsd: 5 })).toBe(true)
  expect(needs({ ...unlimited, tokens: 5, requests: 5, wallSec: 5 })).toBe(false)
})
