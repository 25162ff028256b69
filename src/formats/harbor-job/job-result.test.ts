import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseJobLock } from '../../../test/job-lock.ts'
import { parseJobResult, renderJobResult } from './job-result.ts'
import { type JobLock, renderJobLock } from './lock.ts'
import { parseTime, pythonFloat, renderLocal } from './python-json.ts'

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/harbor-job/${name}`, import.meta.url), 'utf8')
const textOf = (lock: JobLock, host = {}) => [...renderJobLock(lock, host)].join('')

test("Harbor's own job result comes out byte by byte as it went in", () => {
  const text = fixture('made-by-harbor/result.json')
  expect(renderJobResult(parseJobResult(text))).toBe(text)
})

test('counts of older versions are found in their old places', () => {
  const result = parseJobResult(fixture('legacy-job-result.json'))
  expect(result.stats).toMatchObject({ completed: 2, errored: 1, running: 0, pending: 1, retries: 4 })
  expect(result.updatedAt).toBe(parseTime('2025-11-15T00:29:00'))
  expect(result.stats.evals.get('terminus-2__openai-gpt-x__ds')?.rewardStats.get('reward')?.get(0)).toEqual(['b__1'])
})

test('values of rewards are spelt as Python spells floats', () => {
  expect([1, 0, 0.5, 1e-5, 1e-7, 1e16, 1.5e22, 0.1 + 0.2, -0].map(pythonFloat)).toEqual([
    '1.0',
    '0.0',
    '0.5',
    '1e-05',
    '1e-07',
    '1e+16',
    '1.5e+22',
    '0.30000000000000004',
    '-0.0',
  ])
})

test("Harbor's own lock comes out as it went in, but for the version of Harbor and literal variables", () => {
  const text = fixture('made-by-harbor/lock.json').replaceAll(/sk-1\*{4}890|fast/g, '****')
  const lock = parseJobLock(text)
  expect(lock).toMatchObject({ schemaVersion: 1, nConcurrentTrials: 4 })
  expect(lock.trials[0]).toMatchObject({
    task: { name: 'hello', type: 'local', digest: '00'.repeat(32) },
    timeoutMultipliers: { all: 1.5 },
  })
  const harbor = /"harbor": \{[^}]*\}/
  expect(textOf(lock).replace(harbor, '')).toBe(text.replace(harbor, ''))
})

test('a lock without trials is JSON, and a lock of a newer version is read', () => {
  const lock = parseJobLock(fixture('made-by-harbor/lock.json'))
  expect(JSON.parse(textOf({ ...lock, trials: [] })).trials).toEqual([])
  const newer = JSON.parse(fixture('made-by-harbor/lock.json'))
  newer.schema_version = 2
  for (const trial of newer.trials)
    Object.assign(trial, { schema_version: 2, install_only: false, source_trial: null, skills: [] })
  newer.trials[0].environment = { type: 'docker', mounts: [], cpu_enforcement_policy: 'auto' }
  const read = parseJobLock(JSON.stringify(newer))
  expect(read).toMatchObject({ schemaVersion: 2 })
  expect(read.trials[0]?.environment).toMatchObject({ type: 'docker', mountsJson: [] })
})

test('no secret of the command line or of a trial stands in a lock', () => {
  const lock = parseJobLock(fixture('made-by-harbor/lock.json'))
  const [trial] = lock.trials
  const env = { OTHER_KEY: 'mnopqrstuvwx' }
  const text = textOf({
    ...lock,
    invocation: ['run', '--ae', 'MY_KEY=abcdefghijkl'],
    trials: [{ ...trial!, verifier: { ...trial!.verifier, env } }],
  })
  expect(text).toContain('MY_KEY=****')
  expect(text).not.toMatch(/abcdefghijkl|mnopqrstuvwx/)
})

test('local times of a job come back as the same moments', () => {
  const utc = '2026-07-15T10:20:30.123456Z'
  expect(parseTime(renderLocal(utc))).toBe(utc)
  expect(parseTime('2026-07-15T12:20:30.123456+02:00')).toBe(utc)
  expect(parseTime('2026-07-15T10:20:30Z')).toBe('2026-07-15T10:20:30.000000Z')
  expect(parseTime('yesterday')).toBe(null)
})
