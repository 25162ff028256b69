import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../../test/needs.ts'
import pipeline from './generate.ts'
import { checkAnswerPy } from './question-check.ts'
import { isPartOfCells, supported } from './support.ts'

const dir = mkdtempSync(join(tmpdir(), 'answers-'))
writeFileSync(join(dir, 'check.py'), checkAnswerPy)

function isRight(wanted: string[], given: string): boolean {
  writeFileSync(join(dir, 'answers.json'), JSON.stringify(wanted))
  writeFileSync(join(dir, 'answer.txt'), given)
  const { status, stderr } = spawnSync('python3', ['-I', 'check.py', 'answers.json', 'answer.txt'], {
    cwd: dir,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return status === 0
}

test('values are accepted in any order and notation', needs('python3'), () => {
  expect(isRight(['Bergen'], 'bergen\n')).toBe(true)
  expect(isRight(['1,200'], '1200')).toBe(true)
  expect(isRight(['Karine Ruby (FRA)'], 'Karine Ruby')).toBe(true)
  expect(isRight(['Süd', 'A–B'], 'a-b\nSud\n')).toBe(true)
  expect(isRight(['Bergen'], 'Lund')).toBe(false)
  expect(isRight(['Bergen'], 'Bergen\nLund')).toBe(false)
  expect(isRight(['a', 'a'], 'a')).toBe(false)
  expect(isRight(['3'], '')).toBe(false)
  expect(isRight(['8'], '8 years')).toBe(true)
  expect(isRight(['8'], '18 years')).toBe(false)
  expect(isRight(['8'], '8 or 9 years')).toBe(false)
  expect(isRight(['-1.5%', '$2,000'], '2000\n-1.5')).toBe(true)
})

test.each([
  ['12 June', '12 May'],
  ['12 June', '12'],
  ['3 pm', '3 am'],
  ['8 million', '8 thousand'],
  ['8 million', '8'],
  ['8 years', '8 months'],
])('the words after a number count: %s is not %s', needs('python3'), (wanted, given) => {
  expect(isRight([wanted], given)).toBe(false)
})

test.each([
  ['8', '8 years'],
  ['8 years', '8'],
  ['8 years', '8.0 Years'],
  ['12 June', '12 june'],
  ['1,200 m', '1200'],
])('but a unit may be added or left out: %s is %s', needs('python3'), (wanted, given) => {
  expect(isRight([wanted], given)).toBe(true)
})

test.each([
  ['name a player with fewer than 13 innings.', 'several-answers'],
  ['other than Bergen, name another city.', 'several-answers'],
  ['what is one city with over 10 visitors?', 'several-answers'],
  ['Bergen is in the same country as...?', 'several-answers'],
  ['what is the name of a city in the north?', null],
  ['lee was one of two swimmers. who was the second?', null],
  ['how long has the church of Bergen been in use?', 'depends-on-today'],
  ['Bergen had the same number of visitors as which city?', null],
])('a question that asks for any of several is left out: %s', async (question, drop) => {
  if (typeof pipeline.make !== 'function') throw new Error('expected a function')
  const rows = [
    ['Bergen', '7'],
    ['Lund', '9'],
  ]
  const fields = { question, answers: ['Lund'], table: { header: ['City', 'Visitors'], rows, name: 't' } }
  const made = await pipeline.make({ id: '1', source: 's', fields }, {
    options: { ask: 'question', maxRows: 9 },
  } as never)
  expect(made).toEqual([
    drop === null ? expect.objectContaining({ files: expect.anything() }) : expect.objectContaining({ drop }),
  ])
})

test.each([
  ['Lund', 'Lund'],
  ['lund', 'lund'],
  ['Sweden', null],
  ['2', '2'],
  ['2 cities', '2'],
  ['16', '16'],
  ['2 more', '2'],
  ['7,5', '7,5'],
  ['412', null],
  ['2 Lakes Cup', null],
  ['412 visitors', null],
  ['20.6 km (12.8 mi)', '20.6 km (12.8 mi)'],
])(
  'an answer is supported by a cell or a calculation, and loses a unit that the question does not ask for: %s',
  (answer, as) => {
    const rows = [
      ['Bergen', '7,5'],
      ['Lund', '9', '20.6 km (12.8 mi)'],
      ['Turku', '7'],
    ]
    expect(supported(answer, { header: ['City', 'Visitors', 'Way'], rows })).toBe(as)
  },
)

test.each([
  ['94', null],
  ['5 (1)', null],
  ['1945 (1)', '1945 (1)'],
  ['1,920', null],
  ['19.5', '19.5'],
  ['19', '19'],
  ['20', null],
  ['20.4', null],
])('digits within a number are no answer, and a mean is rounded to the places of the answer: %s', (answer, as) => {
  const rows = [
    ['1945 (1)', '7.25'],
    ['1,920.5', '31.7'],
  ]
  expect(supported(answer, { header: ['Year', 'Price'], rows })).toBe(as)
})

test.each([
  ['Maryland', true],
  ['#2 maryland', false],
  ['Indonesia', false],
  ['House Party', false],
  ['Rose Garden', true],
  ['2', false],
  ['8 years', false],
  ['March', false],
  ['January 19, 2009', false],
  ['Mayfield', true],
])('a name that is only a part of cells cannot be written as it stands: %s', (answer, isPart) => {
  const rows = [
    ['#2 Maryland', 'Indonesia (INA)', 'Rose Garden\n18,209', '2 of 8'],
    ['"House Party"[3]', 'March 1, 2009 – January 19, 2009', 'Mayfield, OH', ''],
  ]
  expect(isPartOfCells(answer, { header: ['Team', 'Nation', 'Place', 'Year'], rows })).toBe(isPart)
})

test('a cell with very many notes is read quickly', () => {
  const notes = Array.from({ length: 500 }, (_, i) => `[${i}]`).join('')
  expect(isPartOfCells('town', { header: ['Place'], rows: [[`a town${notes} x`]] })).toBe(true)
})
