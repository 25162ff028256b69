import { expect, test } from 'vitest'
import type { TaskDraft } from '../../../src/core/row.ts'
import { composeTask } from './compose-task.ts'
import { tools } from './work.ts'

const usual = Array.from({ length: 1000 }, (_, index) => composeTask({ seed: 77, index, tools }))
const many = usual.map((_, index) => composeTask({ seed: 77, index, tools, wordings: 'many' }))

test('many wordings change instructions and nothing else', () => {
  const rest = (draft: TaskDraft) => JSON.stringify({ ...draft, instruction: '' })
  expect(many.filter((draft, at) => rest(draft) !== rest(usual[at]!)).map(({ name }) => name)).toEqual([])
  const others = many.filter(({ instruction }, at) => instruction !== usual[at]?.instruction)
  expect(others.length).toBeGreaterThan(850)
  expect(composeTask({ seed: 77, index: 5, tools, wordings: 'many' })).toEqual(many[5])
})

test('every wording names what has to be made', () => {
  const missing = many.flatMap((draft, at) => {
    const lost = made(draft).filter(
      (name) => usual[at]!.instruction.includes(name) && !draft.instruction.includes(name),
    )
    return lost.map((name) => `${draft.name}: ${name}`)
  })
  expect(missing).toEqual([])
})

/** Names of the files that the tests look for and that are not there before. */
function made({ files }: TaskDraft): string[] {
  const expected = String(files['tests/expected.tsv']?.data).trimEnd().split('\n')
  const paths = expected.filter((line) => /^(?:file|some)/.test(line)).map((line) => line.split('\t')[2] ?? '')
  const isNew = (path: string) => files[`environment/files/${path}`] === undefined
  return paths.filter(isNew).map((path) => path.slice(path.lastIndexOf('/') + 1))
}

test('every wording has the columns, dates and amounts of the usual one', () => {
  const missing = many.flatMap((draft, at) => {
    const lost = facts(usual[at]!.instruction).filter((fact) => !draft.instruction.includes(fact))
    return lost.map((fact) => `${draft.name}: ${fact}`)
  })
  expect(missing).toEqual([])
})

/** Dates, decimal numbers, and names in backticks, except for those of examples. */
function facts(instruction: string): string[] {
  const named = [...instruction.matchAll(/`([a-z_]{2,}(?:\.[a-z]+)?)`/g)].map(([, name = '']) => name)
  const drawn = instruction.match(/20\d{2}-\d{2}-\d{2}|\d+\.\d\d/g) ?? []
  return [
    ...named.filter((name) => !/^(?:mon|tue|wed|thu|fri|sat|sun|docs|key|value|north|a__b.txt)$/.test(name)),
    ...drawn,
  ]
}

test('the same thing is asked for in at least twice as many ways', () => {
  for (const operation of ['broken-links', 'word-count', 'join-parts', 'rename-key']) {
    const ways = (wordings: 'usual' | 'many') => {
      const asked = (_: unknown, index: number) => composeTask({ seed: 9, index, operations: [operation], wordings })
      return new Set(Array.from({ length: 60 }, asked).map(({ instruction }) => request(instruction))).size
    }
    expect(ways('many')).toBeGreaterThanOrEqual(2 * ways('usual'))
  }
})

/** The longest paragraph of an instruction without names and numbers. */
function request(instruction: string): string {
  const [longest = ''] = instruction.split('\n\n').sort((a, b) => b.length - a.length)
  return longest.replaceAll(/`[^`]*`|\d+/g, '')
}
