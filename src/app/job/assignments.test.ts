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

test('only brackets make a list; a number with a dot is a key unless a list is there', () => {
  const document: Record<string, unknown> = {}
  setAt(document, parsePath('--set', 'weights.1'), 0.5)
  setAt(document, parsePath('--set', 'mounts[0].path'), '/data')
  setAt(document, parsePath('--set', 'mounts.1'), 'more')
  expect(document).toEqual({ weights: { 1: 0.5 }, mounts: [{ path: '/data' }, 'more'] })
})

test('what a list cannot hold is refused', () => {
  const document = { list: [1, 2], deep: [{ inner: [] }] }
  const before = structuredClone(document)
  for (const path of ['list.x', 'list.length', 'list[3]', 'list.01', 'list.x.y', 'deep[0].inner.name', 'deep.2.inner'])
    expect(() => setAt(document, parsePath('--set', path), 1), path).toThrow('expected a position from 0 to')
  expect(() => setAt(document, ['list', 'x'], 1, '--set stage.list.x=1')).toThrow(
    '--set stage.list.x=1: list: expected a position from 0 to 2 in this list, got "x"',
  )
  expect(document).toEqual(before)
})

test('a path cannot reach the prototype', () => {
  expect(() => parsePath('--set', '__proto__.polluted')).toThrow('expected keys such as')
  expect(() => parsePath('--set', 'a..b')).toThrow('expected keys such as')
})
