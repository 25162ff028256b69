import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commands, type Group } from '../src/cli/commands.ts'
import { pipelineStageFile } from '../src/plugins/make-stage.ts'
import { registry } from '../src/plugins/table.ts'

const items = readFileSync('docs/parity.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| *\d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, number = '', what = '', state = '', here = '', tests = '', ...rest]) => ({
    ...{ number, what, state, here, tests, rest },
    code: [...here.matchAll(/`([^`]+)`/g)].map(([, piece = '']) => piece),
  }))

test('there are 98 items, in order, with five cells each', () => {
  expect(items.map(({ number }) => number)).toEqual(Array.from({ length: 98 }, (_, i) => String(i + 1)))
  expect(items.filter(({ rest, what }) => rest.length !== 1 || rest[0] !== '' || what === '')).toEqual([])
})

test('each is there, partly there or missing, and what is missing is named', () => {
  const wrong = items.filter(({ state, here, tests }) => {
    const says = / Missing: \S/.test(here)
    if (state === 'there') return says || tests === ''
    if (state === 'partly') return !says || tests === ''
    return state !== 'missing' || here === '' || tests !== ''
  })
  expect(wrong.map(({ number }) => number)).toEqual([])
})

test('tests are files of tests', () => {
  const wrong = items.flatMap(({ number, tests }) =>
    (tests === '' ? [] : tests.split(', '))
      .filter((name) => !/^`[^`]+\.test\.ts`$/.test(name) || !existsSync(name.slice(1, -1)))
      .map((name) => `${number}: ${name}`),
  )
  expect(wrong).toEqual([])
})

test('paths and stages exist', () => {
  const known = (name: string) =>
    existsSync(name) || Object.hasOwn(registry.stages, name) || pipelineStageFile(name) !== null
  const wrong = items.flatMap(({ number, code }) =>
    code.filter((piece) => /^[\w.-]+\/[\w./-]+$/.test(piece) && !known(piece)).map((piece) => `${number}: ${piece}`),
  )
  expect(wrong).toEqual([])
})

// readme.test.ts checks for every page that commands accept the flags given with them.
test('commands resolve', () => {
  const lines = items.flatMap(({ code }) => code.filter((piece) => piece.startsWith('ot-agent ')))
  expect(lines.length).toBeGreaterThan(50)
  expect(lines.filter((line) => !resolves(line.split(' ').slice(1), commands))).toEqual([])
  expect(['recipe no-such', 'no-such'].map((line) => resolves(line.split(' '), commands))).toEqual([false, false])
})

function resolves([name = '', ...rest]: readonly string[], group: Group): boolean {
  const entry = Object.hasOwn(group, name) ? group[name] : undefined
  if (!entry) return false
  if (!('group' in entry)) return true
  const isBelow = Object.hasOwn(entry.group, rest[0] ?? '')
  return isBelow ? resolves(rest, entry.group) : 'load' in entry
}
