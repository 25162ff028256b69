import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from './needs.ts'

const examples = readdirSync('examples').filter((name) => name.endsWith('.ts'))

test.each(examples)('%s is short, and says how to run it', (name) => {
  const text = readFileSync(join('examples', name), 'utf8')
  expect(text.split('\n').length).toBeLessThan(40)
  expect(text).toMatch(new RegExp(`^// (?:npm run example|npx ot-agent recipe run) examples/${name}`, 'm'))
})

const stages = readdirSync('examples/stages').filter((name) => name.endsWith('.ts'))

test.each(stages)('stages/%s is short, and a recipe names it', (name) => {
  expect(readFileSync(join('examples/stages', name), 'utf8').split('\n').length).toBeLessThan(40)
  const recipes = ['05-your-own-stages.ts', '09-make-and-roll-out.ts']
  expect(recipes.map((recipe) => readFileSync(join('examples', recipe), 'utf8')).join()).toContain(`'./stages/${name}'`)
})

describe('run', needs('bwrap', 'unshare', 'nsenter'), () => {
  test('01-one-trial scores 1', () => {
    expect(run('01-one-trial.ts')).toMatch(/^\S+\/csv-to-json: \{"reward":1\}\nthe tests were fresh from the agent/)
  })

  test('02-a-job scores its oracle 1 and doing nothing 0, and has nothing left to do the second time', () => {
    const jobs = mkdtempSync(join(tmpdir(), 'jobs-'))
    const output = run('02-a-job.ts', jobs)
    expect(output).toMatch(/^oracle\S* 3 scored, mean 1$/m)
    expect(output).toMatch(/^nop\S* 3 scored, mean 0$/m)
    expect(run('02-a-job.ts', jobs)).toBe(output)
  })

  test('03-your-own-agent sees its sandbox and scores 0', () => {
    const { end, saw } = JSON.parse(run('03-your-own-agent.ts'))
    expect(end).toMatchObject({ kind: 'scored', rewards: { reward: 0 } })
    expect(saw.saw).toEqual(['root', '/app', 'customers.csv'])
  })

  test('09-make-and-roll-out makes tasks of lines and rows of trials', () => {
    const out = mkdtempSync(join(tmpdir(), 'recipe-'))
    const words = ['recipe', 'run', 'examples/09-make-and-roll-out.ts', '-o', out, '--json', '--quiet']
    const done = spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8' })
    expect({ status: done.status, stderr: done.stderr }).toMatchObject({ status: 0 })
    const { stages, sinks } = JSON.parse(done.stdout)
    const given = stages.map(({ id, given }: { id: string; given: number }) => [id, given])
    expect(Object.fromEntries(given)).toMatchObject({ 'copy-task': 6, two: 2, 'roll-once': 2 })
    expect(sinks).toMatchObject([{ id: 'rows', counts: { train: 2 } }])
  })

  test('no example is left out', () => {
    expect(examples).toEqual([
      '01-one-trial.ts',
      '02-a-job.ts',
      '03-your-own-agent.ts',
      '04-a-recipe.ts',
      '05-your-own-stages.ts',
      '06-run-a-recipe.ts',
      '07-a-launch.ts',
      '08-an-ablation.ts',
      '09-make-and-roll-out.ts',
    ])
  })
})

test('07-a-launch plans two jobs and hands none over', () => {
  expect(run('07-a-launch.ts')).toMatch(/^tasks: .+, 02:00:00\nupload-tasks: .+\nsbatch \.\.\.\nsbatch \.\.\.\n$/)
})

// test/e2e/ablate.test.ts runs 08-an-ablation.
test('06-run-a-recipe makes the same, and has nothing left to do the second time', () => {
  const out = mkdtempSync(join(tmpdir(), 'program-'))
  const output = run('06-run-a-recipe.ts', out)
  expect(output).toMatch(/^sample \d+ -> 6$/m)
  expect(run('06-run-a-recipe.ts', out)).toBe(output)
})

test('04-a-recipe makes prompt sets of six tasks, and has nothing left to do the second time', () => {
  const out = mkdtempSync(join(tmpdir(), 'recipe-'))
  const recipe = () => {
    const words = ['recipe', 'run', 'examples/04-a-recipe.ts', '-o', out, '--json', '--quiet']
    return JSON.parse(spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8' }).stdout)
  }
  expect(recipe().sinks).toMatchObject([{ id: 'prompts', counts: { train: 5, validation: 1 }, cached: false }])
  expect(recipe().sinks).toMatchObject([{ id: 'prompts', cached: true }])
})

function run(name: string, ...args: string[]): string {
  const done = spawnSync(process.execPath, ['scripts/example.mjs', join('examples', name), ...args], {
    encoding: 'utf8',
  })
  expect({ status: done.status, stderr: done.stderr }).toMatchObject({ status: 0 })
  return done.stdout
}
