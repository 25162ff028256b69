import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRecipeRun } from '../view-data-kit.ts'

let dir: string
const program = (...words: string[]) =>
  spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8', timeout: 600_000 })

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-view-'))
  await makeRecipeRun(join(dir, 'small'))
})

afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('rows that a stage dropped are listed with their reasons', () => {
  const all = program('recipe', 'explain', join(dir, 'small'), '--dropped', 'hacks')
  expect(all.stdout).toContain('hack-0__aaaaaaa')
  expect(all.stdout).toContain('hack-1__aaaaaaa')
  const some = program('recipe', 'explain', join(dir, 'small'), '--dropped', 'hacks', '--reason', 'reads-grader')
  expect([some.stdout.includes('hack-0'), some.stdout.includes('hack-1'), some.status]).toEqual([true, false, 0])
  const none = program('recipe', 'explain', join(dir, 'small'), '--dropped', 'hack')
  expect([none.status, none.stderr]).toEqual([2, expect.stringContaining('did you mean hacks?')])
})

test('the first rows of a dataset are printed', () => {
  const { stdout, status } = program('traces', 'head', join(dir, 'small', 'out', 'dataset'), '-n', '2')
  expect(status).toBe(0)
  expect(stdout).toContain('task-1')
})

test('a static export says how many rows it holds, and refuses a number that is none', () => {
  const out = join(dir, 'site')
  const wrong = program('view', join(dir, 'small'), '--export', out, '--export-rows', 'many')
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('expected a whole number of rows')])
  expect(existsSync(out)).toBe(false)
  const { stdout } = program('view', join(dir, 'small'), '--export', out, '--export-rows', '3', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ schema: 'view-export/1', datasets: 4 })
  const about = JSON.parse(readFileSync(join(out, 'api', 'data', 'small~3Adataset.json'), 'utf8'))
  expect(about.rows).toBe(23)
  expect(about.leftOut).toBe(23 - about.indexed)
  expect(about.indexed).toBeLessThan(15)
})
