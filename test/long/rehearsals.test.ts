import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RehearsalReport } from '../../src/app/recipe/rehearse.ts'
import { needs } from '../needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-rehearsals-'))
const recipes = readdirSync('recipes').filter((name) => name.endsWith('.ts'))

/** From another directory, without a key, and with an unreachable network. */
function program(...words: string[]) {
  const nowhere = 'http://127.0.0.1:9'
  return spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...words], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    cwd: scratch,
    env: { PATH: process.env.PATH, HOME: scratch, HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, HF_ENDPOINT: nowhere },
  })
}

function rehearse(file: string): RehearsalReport {
  const { status, stdout, stderr } = program('recipe', 'run', file, '--rehearse', '--json', '-q')
  expect({ status, stderr }).toMatchObject({ status: 0 })
  return JSON.parse(stdout)
}

describe('a rehearsal', needs('bwrap', 'unshare', 'nsenter', 'git', 'python3'), () => {
  test.each(recipes)('of %s runs every stage, without a key or a network', (name) => {
    const report = rehearse(resolve('recipes', name))
    expect(report.brokenAt).toBeNull()
    expect(report.stages.filter(({ given }) => given === 0).map(({ id }) => id)).toEqual([])
    expect(report.stages.filter(({ endedEmpty }) => endedEmpty)).toEqual([])
    expect(report.outputs.length).toBeGreaterThan(0)
    const lock = JSON.parse(readFileSync(join(report.dir, 'lock.json'), 'utf8'))
    const manifest = JSON.parse(readFileSync(join(report.dir, 'manifest.json'), 'utf8'))
    expect([lock.rehearsal, manifest.rehearsal]).toEqual([true, true])
    for (const { dir } of report.outputs)
      expect(readFileSync(join(dir, 'README.md'), 'utf8')).toContain('This is a rehearsal, not a dataset')
  })

  test('skips a filter that drops everything, says what it could not try, and is no run', () => {
    const file = join(scratch, 'hard.ts')
    const stages = [
      { id: 'hub', use: 'sources/hub-tasks', with: { repo: 'no/such' } },
      {
        id: 'sure',
        use: 'maps/classify',
        with: { rows: 'task', prompt: 'Is it?', into: 'sure', keep: 'no', model: { model: 'openai/x' } },
      },
      {
        id: 'rollout',
        use: 'rollouts/agent',
        with: { teacher: { model: 'openai/x' }, agent: 'opencode', sandbox: 'modal' },
      },
      { id: 'turns', use: 'filters/rollouts/min-turns', with: { least: 500 } },
      { id: 'secrets', use: 'filters/rollouts/secrets' },
      { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0 } },
    ]
    writeFileSync(file, `export default ${JSON.stringify({ name: 'hard', stages })}\n`)
    const report = rehearse(file)
    const stage = (id: string) => report.stages.find((each) => each.id === id)
    expect(stage('hub')).toMatchObject({ given: 2, notExercised: ['the source itself: no/such is on the Hub'] })
    expect(stage('sure')).toMatchObject({ given: 0, endedEmpty: true, drops: { 'classified-yes': 2 } })
    expect(stage('rollout')?.substituted).toEqual([
      'local sandboxes for modal',
      'terminus-2 for opencode',
      "the tasks' own solutions for openai/x",
    ])
    expect(stage('turns')).toMatchObject({ taken: 2, given: 0, endedEmpty: true })
    expect(stage('dataset')).toMatchObject({ taken: 2, endedEmpty: false })
    const run = program('recipe', 'run', file, '-o', report.dir)
    expect(run.status).toBe(3)
    const simple = join(scratch, 'simple.ts')
    const [source, sink] = [{ use: 'sources/pipeline', with: { pipeline: 'nl2bash' } }, { use: 'exporters/rl' }]
    writeFileSync(simple, `export default ${JSON.stringify({ name: 'simple', stages: [source, sink] })}\n`)
    expect(program('recipe', 'run', simple, '-o', report.dir)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('expected a run of a recipe, found a rehearsal'),
    })
  })
})
