import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { makeRandom } from '../../src/lib/random.ts'
import { needs } from '../needs.ts'
import { readTree } from '../trees.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-recipe-crash-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** A stand-in that says one thing and is done, so that nothing in its traces depends on the clock. */
const script = join(scratch, 'script.json')
writeFileSync(
  script,
  JSON.stringify([{ analysis: 'Nothing to see.', plan: 'Stop here.', commands: [], task_complete: true }]),
)

const teacher = { model: 'scripted/stand-in', engine: 'scripted', options: { script } }
const stages = [
  {
    id: 'composer',
    use: 'sources/pipeline',
    with: { pipeline: 'terminal-composer', args: { count: 4, check: false } },
  },
  { id: 'puzzles', use: 'sources/pipeline', with: { pipeline: 'all-puzzles', args: { count: 3, check: false } } },
  { id: 'mix', use: 'mixers/weighted' },
  { id: 'alike', use: 'filters/tasks/near-duplicates' },
  { id: 'verified', use: 'filters/tasks/verified', with: { concurrency: 2 } },
  { id: 'allocate', use: 'rollouts/allocate', with: { perTask: 1.5 } },
  { id: 'rollout', use: 'rollouts/agent', with: { teacher, concurrency: 2 } },
  { id: 'subagents', use: 'filters/rollouts/no-subagents' },
  { id: 'secrets', use: 'filters/rollouts/secrets' },
  { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0.2 } },
  { id: 'ladder', use: 'exporters/ladder', with: { sizes: [2, 4] } },
]
const recipe = join(scratch, 'crash.ts')
writeFileSync(recipe, `export default ${JSON.stringify({ name: 'crash', seed: 3, stages }, null, 2)}\n`)

// Always the same directory: it holds the tasks of a rollout, and a trial's name depends on what its task is solved
// with.
const dir = join(scratch, 'run')
const start = () =>
  spawn(process.execPath, ['bin/ot-agent.js', 'recipe', 'run', recipe, '-o', dir, '--shard-rows', '2'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })

/** Lets a process run to its end or kills it after this time; true if it reached its end. */
async function runFor(child: ChildProcess, ms: number): Promise<boolean> {
  let said = ''
  child.stderr?.on('data', (text) => {
    said += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code }))
  const first = await Promise.race([ended, sleep(ms, 'time' as const)])
  if (first === 'time') {
    child.kill('SIGKILL')
    await ended
    return false
  }
  expect({ code: first.code, said }).toMatchObject({ code: 0 })
  return true
}

describe('a recipe', needs('bwrap', 'unshare', 'nsenter', 'git'), () => {
  test('killed at ten random moments ends in the same bytes as one that was left alone', {
    timeout: 3_600_000,
  }, async () => {
    const begun = performance.now()
    expect(await runFor(start(), 1_800_000)).toBe(true)
    const wholeMs = performance.now() - begun
    const alone = join(scratch, 'alone')
    cpSync(join(dir, 'out'), alone, { recursive: true })
    rmSync(dir, { recursive: true })

    const random = makeRandom(Date.now() % 1e9, 'kills')
    for (let kills = 0; kills < 10; ) {
      const finished = await runFor(start(), 300 + random.next() * wholeMs * 0.5)
      if (finished) rmSync(dir, { recursive: true })
      else kills++
    }
    expect(await runFor(start(), 1_800_000)).toBe(true)
    expect(await readTree(join(dir, 'out'))).toEqual(await readTree(alone))
  })
})
