import { expect, test } from 'vitest'
import { SharedOpenings } from './shared-openings.ts'

const rules = `You are an agent.\n${'Type commands, one at a time. '.repeat(5)}\nTask:\n`
const other = `# Instructions\n${'Answer with a patch and nothing else. '.repeat(4)}\n\n`

test('what questions share is left out, also of the first one and when agents alternate', () => {
  const openings = new SharedOpenings()
  expect(openings.take(0, `${rules}Count the words.`)).toEqual([{ row: 0, own: `${rules}Count the words.` }])
  expect(openings.take(1, `${rules}Count the lines.`)).toEqual([
    { row: 0, own: 'Count the words.' },
    { row: 1, own: 'Count the lines.' },
  ])
  openings.take(2, `${other}Fix it.`)
  expect(openings.take(3, `${rules}Sort.`)).toEqual([{ row: 3, own: 'Sort.' }])
  expect(openings.take(4, `${other}Mend it.`)).toEqual([
    { row: 2, own: 'Fix it.' },
    { row: 4, own: 'Mend it.' },
  ])
  expect(openings.take(5, `${other}Fix it.`)).toEqual([{ row: 5, own: 'Fix it.' }])
})

test('short and equal questions are left whole', () => {
  const openings = new SharedOpenings()
  for (const question of ['What is it?\nA', 'What is it?\nB', `${rules}Again.`, `${rules}Again.`, ''])
    expect(openings.take(0, question)).toEqual([{ row: 0, own: question }])
})
