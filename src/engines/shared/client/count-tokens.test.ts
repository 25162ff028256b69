import { expect, test } from 'vitest'
import type { ChatMessage } from '../../../core/model.ts'
import { makeTokenCounter } from './count-tokens.ts'

const user = (content: string): ChatMessage => ({ role: 'user', content })

test('without a word from the server it is a guess', () => {
  const { tokens, exact } = makeTokenCounter().count([user('hello there, how are you?')])
  expect(exact).toBe(false)
  expect(tokens).toBeGreaterThan(5)
  expect(tokens).toBeLessThan(25)
})

test('a counted conversation is exact, by its content', () => {
  const counter = makeTokenCounter()
  counter.learn([user('a'), user('b')], 50)
  expect(counter.count([user('a'), user('b')])).toEqual({ tokens: 50, exact: true })
  expect(counter.count([user('a'), user('c')]).exact).toBe(false)
  expect(counter.count([user('a')]).exact).toBe(false)
})

test('one that goes on starts from what was counted, the longest known beginning first', () => {
  const counter = makeTokenCounter()
  const messages = [user('a'), user('b'), user('c'), user('d')]
  counter.learn(messages.slice(0, 1), 1000)
  counter.learn(messages.slice(0, 3), 3000)
  const { tokens, exact } = counter.count(messages)
  expect(exact).toBe(false)
  expect(tokens).toBeGreaterThan(3000)
  expect(tokens).toBeLessThan(3050)
})

test('a server that counts more makes every guess larger, within reason', () => {
  const counter = makeTokenCounter()
  const strange = [user('something else entirely, of some length')]
  const before = counter.count(strange).tokens
  for (let i = 0; i < 20; i++) counter.learn([user(`conversation number ${i}`)], 1_000_000)
  const { tokens } = counter.count(strange)
  expect(tokens).toBeGreaterThan(before)
  expect(tokens).toBeLessThanOrEqual(before * 2 + 1)
})

test('many conversations are not all kept', () => {
  const counter = makeTokenCounter()
  for (let i = 0; i < 100; i++) counter.learn([user(`conversation ${i}`)], 10)
  expect(counter.count([user('conversation 0')]).exact).toBe(false)
  expect(counter.count([user('conversation 99')]).exact).toBe(true)
})
