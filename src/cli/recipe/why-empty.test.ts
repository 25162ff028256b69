import { expect, test } from 'vitest'
import { whyEmpty } from './why-empty.ts'

const stage = (id: string, taken: number, given: number) => ({ id, use: id, taken, given, drops: {} })
const sink = (rows: number) => ({
  id: 'dataset',
  dir: '/out',
  counts: {},
  rows,
  stale: false,
  replay: null,
  cached: false,
  files: [],
})

test('an empty dataset names the stage that dropped the last rows and the command that shows them', () => {
  const stages = [stage('days', 0, 2), stage('busy', 2, 0), stage('agent', 0, 0)]
  expect(whyEmpty('runs/my days', { stages, sinks: [sink(0)] })).toMatch(
    /^failed: the dataset is empty: busy dropped every row\nhint: .* recipe explain 'runs\/my days' --dropped busy shows why$/,
  )
})

test('of several branches, the stage that dropped the last rows is named and not a source that gave none', () => {
  const stages = [stage('a', 0, 2), stage('b', 0, 0), stage('mix', 2, 2), stage('busy', 2, 0)]
  expect(whyEmpty('runs/x', { stages, sinks: [sink(0)] })).toContain('busy dropped every row')
})

test('a source without rows is named', () => {
  expect(whyEmpty('runs/x', { stages: [stage('days', 0, 0)], sinks: [sink(0)] })).toMatch(
    /empty: days produced no rows\nhint: .* recipe explain runs\/x shows why$/,
  )
})

test('a dataset with rows, and a run that wrote none, are in order', () => {
  const stages = [stage('days', 0, 0)]
  expect(whyEmpty('runs/x', { stages, sinks: [sink(0), sink(1)] })).toBeNull()
  expect(whyEmpty('runs/x', { stages, sinks: [] })).toBeNull()
})
