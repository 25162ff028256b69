import { expect, test } from 'vitest'
import { failed, someRecord } from '../../../test/records.ts'
import { explainingLine } from './explaining-line.ts'

const at = '2026-11-15T00:01:00.000000Z'
const log = (...lines: string[]) => lines.map((line) => `${at} ${line}`)
const unsolved = someRecord({ end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } } })

test('the last line before the end that reports a problem explains a failure', () => {
  const record = someRecord({ end: failed() })
  const lines = log('trial a: task b', 'tests did not finish within 3 s', 'rewards', 'failed at verifier: X: y')
  expect(explainingLine(record, lines)).toBe(`${at} tests did not finish within 3 s`)
  expect(explainingLine(record, log('trial error__1: task b', 'failed at task: X: y'))).toBe(
    `${at} failed at task: X: y`,
  )
})

test('tests that exited with 0 explain nothing, and a solved trial needs no explanation', () => {
  expect(explainingLine(unsolved, log('tests exited with 0', 'scored {"reward":0}'))).toBeNull()
  expect(explainingLine(unsolved, log('tests exited with 1', 'scored {"reward":0}'))).toBe(`${at} tests exited with 1`)
  expect(explainingLine(someRecord(), log('tests exited with 1'))).toBeNull()
})
