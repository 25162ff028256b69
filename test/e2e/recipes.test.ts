import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { jsonDialect } from '../../src/agents/terminus-2/parse-json.ts'
import { needs } from '../needs.ts'

const recipes = readdirSync('recipes').filter((name) => name.endsWith('.ts'))
const program = (...words: string[]) =>
  spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8', maxBuffer: 2 ** 26 })

/** What each recipe lacks on a machine without keys, servers, clouds or files of its own; checked without network. */
const lacking: Readonly<Record<string, readonly string[]>> = {
  'demo.ts': [],
  'openthoughts-agent-v1.ts': ['inferredbugs: git clone', 'verified, rollout: export DAYTONA_API_KEY'],
  'openthoughts-agent-v2.ts': [
    'issue-tasks: put the file there',
    'superuser: download the archive',
    'tezos: download the archive',
    'tezos-forms, verified, length, rollout: export OPENAI_API_KEY',
    'verified, rollout: export DAYTONA_API_KEY',
  ],
  'openthoughts-agent-rl.ts': ['verified: export DAYTONA_API_KEY'],
}

test.each(recipes)('%s tells what every stage takes and gives, and what is missing', (name) => {
  const env = { ...process.env, DAYTONA_API_KEY: '', OPENAI_API_KEY: '' }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['bin/ot-agent.js', 'recipe', 'check', join('recipes', name), '--offline', '--json'],
    { encoding: 'utf8', env },
  )
  const expected = lacking[name] ?? []
  expect({ status, stderr }).toEqual({ status: expected.length === 0 ? 0 : 3, stderr: '' })
  const { stages, forecast, missing } = JSON.parse(stdout)
  const lines = missing.map(
    (each: { stages: string[]; provide: string }) => `${each.stages.join(', ')}: ${each.provide}`,
  )
  expect(lines).toEqual(expected.map((line) => expect.stringContaining(line)))
  expect(forecast).toHaveLength(stages.length)
  expect(stages.at(-1).form).toBe('sink')
})

test('the 100K recipe tells rollouts, tokens and hours before anything runs', () => {
  const { stdout } = program('recipe', 'check', 'recipes/openthoughts-agent-v2.ts', '--json')
  const { forecast } = JSON.parse(stdout)
  const { expected } = forecast.find(({ id }: { id: string }) => id === 'rollout')
  expect(expected).toMatchObject({ rollouts: 200_000, rows: 100_000 })
  expect(expected.tokens).toBeGreaterThan(1e9)
  expect(expected.hours).toBeGreaterThan(1)
})

test('a stage that asks a model tells how often, and that it costs', () => {
  const { stdout } = program('recipe', 'check', 'recipes/demo.ts')
  expect(stdout).toMatch(/ rollouts +calls +tokens +USD +hours$/m)
  expect(stdout).toMatch(/^length +\S+ +task +task +18 +18 +18 +\? +\?$/m)
  expect(stdout).toMatch(/^same +\S+ +task +task +18 +18$/m)
})

test('with a limit it tells, and makes, the part of its rollouts that the limited tasks are of all', () => {
  const { stdout } = program('recipe', 'check', 'recipes/openthoughts-agent-v2.ts', '--limit', '2', '--json')
  const { forecast } = JSON.parse(stdout)
  const { taken, expected } = forecast.find(({ id }: { id: string }) => id === 'allocate')
  expect({ taken, rows: expected.rows }).toEqual({ taken: 48, rows: 198 })
})

describe('the demo in small', needs('bwrap', 'unshare', 'nsenter', 'git'), () => {
  test('runs from three pipelines to a dataset, and the second time from the cache', () => {
    const out = join(mkdtempSync(join(tmpdir(), 'demo-')), 'run')
    const first = program('demo', '--limit', '1', '-o', out)
    expect({ status: first.status, stderr: first.stderr }).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('The teacher is a stand-in, not a model'),
    })
    expect(first.stdout).toMatch(/^mix +3 +3$/m)
    expect(first.stdout).toMatch(/^rollout +(\d+) +\1$/m)
    expect(first.stdout).toMatch(/^\d+ traces for training and [1-9]\d* for validation:$/m)
    expect(readdirSync(join(out, 'out/dataset')).sort()).toEqual(
      expect.arrayContaining(['README.md', 'data', 'dataset_info.json', 'jsonl', 'train.yaml']),
    )
    const replies = readdirSync(join(out, 'out/dataset/jsonl')).flatMap((name) =>
      repliesIn(join(out, 'out/dataset/jsonl', name)),
    )
    expect(replies.length).toBeGreaterThan(3)
    // In the form that the preceding prompt asks for, as parsed by the agent itself.
    expect(replies.filter((reply) => jsonDialect.parse(reply).error !== '')).toEqual([])
    const again = JSON.parse(program('demo', '--limit', '1', '-o', out, '--json', '--quiet').stdout)
    expect(again.cached).toHaveLength(again.stages.length - 3)
    expect(again.sinks[0].cached).toBe(true)
    expect(first.stderr).toContain('Now the student composer-6m tries new tasks')
    expect(first.stdout).toMatch(/^student +1 +1$/m)
    expect(again.student.stages.map(({ id }: { id: string }) => id)).toContain('solved')
    const explained = program('recipe', 'explain', out).stdout
    expect(explained).toMatch(/^mix +3 +3$/m)
    expect(explained).toMatch(/^rows of( +\S+){3}$/m)
    expect(explained).toMatch(/^mix( +1){3}$/m)
  })
})

/** The model's replies in all rows of a dataset. */
function repliesIn(path: string): string[] {
  const rows = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return rows.flatMap(({ conversations }) =>
    conversations.flatMap((said: { from: string; value: string }) => (said.from === 'gpt' ? [said.value] : [])),
  )
}
