import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from '../needs.ts'

const recipes = readdirSync('recipes').filter((name) => name.endsWith('.ts'))
const program = (...words: string[]) =>
  spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8', maxBuffer: 2 ** 26 })

test.each(recipes)('%s passes its check and tells what every stage takes and gives', { timeout: 60_000 }, (name) => {
  const { status, stdout, stderr } = program('recipe', 'check', join('recipes', name), '--json')
  expect({ status, stderr }).toMatchObject({ status: 0 })
  const { stages, forecast } = JSON.parse(stdout)
  expect(forecast).toHaveLength(stages.length)
  expect(stages.at(-1).form).toBe('sink')
})

test('the 100K recipe tells rollouts, tokens and hours before anything runs', { timeout: 60_000 }, () => {
  const { stdout } = program('recipe', 'check', 'recipes/openthoughts-agent-v2.ts', '--json')
  const { forecast } = JSON.parse(stdout)
  const { expected } = forecast.find(({ id }: { id: string }) => id === 'rollout')
  expect(expected).toMatchObject({ rollouts: 200_000, rows: 100_000 })
  expect(expected.tokens).toBeGreaterThan(1e9)
  expect(expected.hours).toBeGreaterThan(1)
})

test('a stage that asks a model tells how often, and that it costs', { timeout: 60_000 }, () => {
  const { stdout } = program('recipe', 'check', 'recipes/demo.ts')
  expect(stdout).toMatch(/ rollouts +calls +tokens +USD +hours$/m)
  expect(stdout).toMatch(/^length +\S+ +task +task +18 +18 +18 +\? +\?$/m)
  expect(stdout).toMatch(/^same +\S+ +task +task +18 +18$/m)
})

test('with a limit it tells, and makes, the part of its rollouts that the limited tasks are of all', {
  timeout: 60_000,
}, () => {
  const { stdout } = program('recipe', 'check', 'recipes/openthoughts-agent-v2.ts', '--limit', '2', '--json')
  const { forecast } = JSON.parse(stdout)
  const { taken, expected } = forecast.find(({ id }: { id: string }) => id === 'allocate')
  expect({ taken, rows: expected.rows }).toEqual({ taken: 48, rows: 198 })
})

describe('the demo in small', needs('bwrap', 'unshare', 'nsenter', 'git'), () => {
  test('runs from three pipelines to a dataset, and the second time from the cache', { timeout: 300_000 }, () => {
    const out = join(mkdtempSync(join(tmpdir(), 'demo-')), 'run')
    const first = program('demo', '--limit', '1', '-o', out)
    expect({ status: first.status, stderr: first.stderr }).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('The teacher is a stand-in, no model'),
    })
    expect(first.stdout).toMatch(/^mix +3 +3$/m)
    expect(first.stdout).toMatch(/^rollout +(\d+) +\1$/m)
    expect(first.stdout).toMatch(/^\d+ traces to train on and [1-9]\d* to validate with:$/m)
    expect(readdirSync(join(out, 'out/dataset')).sort()).toEqual(
      expect.arrayContaining(['README.md', 'data', 'dataset_info.json', 'jsonl', 'train.yaml']),
    )
    const again = JSON.parse(program('demo', '--limit', '1', '-o', out, '--json', '--quiet').stdout)
    expect(again.cached).toHaveLength(again.stages.length - 3)
    expect(again.sinks[0].cached).toBe(true)
    const explained = program('recipe', 'explain', out).stdout
    expect(explained).toMatch(/^mix +3 +3$/m)
    expect(explained).toMatch(/^rows of( +\S+){3}$/m)
    expect(explained).toMatch(/^mix( +1){3}$/m)
  })
})
