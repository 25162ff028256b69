import { expect, test } from 'vitest'
import type { TaskReport } from '../../run/check/check-task.ts'
import { yieldsOf } from './reasons.ts'

test('the yield of a check counts every task once, even those it does not apply to', () => {
  const report = (...checks: [name: string, outcome: string][]) =>
    ({ checks: checks.map(([name, outcome]) => ({ name, outcome, reasons: [] })) }) as unknown as TaskReport
  const yields = yieldsOf([
    report(['lint', 'ok'], ['oracle', 'ok'], ['shallow', 'fail']),
    report(['lint', 'ok'], ['oracle', 'unknown']),
    report(['lint', 'fail']),
  ])
  const of = (wanted: string) => yields.find(({ name }) => name === wanted)
  expect(of('lint')).toEqual({ name: 'lint', ok: 2, fail: 1, unknown: 0, skipped: 0 })
  expect(of('oracle')).toEqual({ name: 'oracle', ok: 1, fail: 0, unknown: 1, skipped: 1 })
  expect(of('shallow')).toEqual({ name: 'shallow', ok: 0, fail: 1, unknown: 0, skipped: 2 })
})
