import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type LabeledTask, parseLabels, ratesOf, ratesWithReviewer } from '../bench/lib/law-rates.ts'
import { checkNames } from '../src/run/check/verdict.ts'

const labels = parseLabels(readFileSync('bench/labels/tasks.jsonl', 'utf8'))

test('over 200 tasks of three sources are labeled, each once, and without their texts', () => {
  expect(labels.length).toBeGreaterThanOrEqual(200)
  expect(new Set(labels.map(({ digest }) => digest)).size).toBe(labels.length)
  expect(new Set(labels.map(({ pipeline }) => pipeline)).size).toBeGreaterThanOrEqual(3)
  for (const { digest, label, reason, failed, ...rest } of labels) {
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    expect(reason === undefined).toBe(label === 'good')
    expect(checkNames).toEqual(expect.arrayContaining([...failed]))
    expect(Object.keys(rest).sort()).toEqual(['pipeline', 'row'])
  }
})

test('rates count what is caught, what is lost, and what a reviewer of known error would change', () => {
  const task = (label: LabeledTask['label'], ...failed: string[]): LabeledTask => {
    return { pipeline: 'p', row: '1', digest: '', label, failed }
  }
  const tasks = [task('bad', 'oracle'), task('bad', 'shallow'), task('bad'), task('good'), task('good', 'shallow')]
  expect(ratesOf(tasks, (check) => check === 'shallow')).toEqual({
    ...{ good: 2, bad: 2 + 1 },
    ...{ caught: 1 / 3, lost: 1 / 2, precision: 1 / 2 },
  })
  const { caught, lost } = ratesWithReviewer(tasks, 0.1)
  expect(caught).toBeCloseTo((2 + 0.9) / 3)
  expect(lost).toBeCloseTo((1 + 0.1) / 2)
})
