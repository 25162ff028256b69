import { expect, test } from 'vitest'
import { parseAssignment, parsedAssignments, parsePath, parseValue, setAt } from './assignments.ts'

test('a value is JSON, then a Python word, then text', () => {
  const texts = ['3', '0.5', 'true', 'True', 'None', '{"a":[1]}', '"quoted"', 'plain text', '1e', '']
  expect(texts.map(parseValue)).toEqual([3, 0.5, true, true, null, { a: [1] }, 'quoted', 'plain text', '1e', ''])
})

test('only the first equals sign splits', () => {
  expect(parsedAssignments('--ak', ['a=b=c', 'n=1'])).toEqual({ a: 'b=c', n: 1 })
})

test('an assignment without a key names the option and what came', () => {
  expect(() => parseAssignment('--ae', '=x')).toThrow('--ae: expected KEY=VALUE, got "=x"')
})

test('a path reaches into lists in both spellings and makes what is missing', () => {
  const document = { agents: [{ name: 'oracle' }] }
  setAt(document, parsePath('--set', 'agents[0].kwargs.deep.x'), 1)
  setAt(document, parsePath('--set', 'agents.1.name'), 'nop')
  expect(document).toEqual({ agents: [{ name: 'oracle', kwargs: { deep: { x: 1 } } }, { name: 'nop' }] })
})

test('a path cannot reach the prototype', () => {
  expect(() => parsePath('--set', '__proto__.polluted')).toThrow('expected keys')
  expect(() => parsePath('--set', 'a..b')).toThrow('expected keys')
})
