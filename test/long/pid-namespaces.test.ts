import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import '../needs.ts'
import { passingSolve, writeTask } from '../fakes/tasks.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-namespaces-'))
const sandboxes = join(scratch, 'cache/ot-agent/local/sandboxes')
const unshare = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const skipReason =
  missingPrograms().length > 0
    ? `needs ${missingPrograms().join(', ')}, not found on this machine`
    : spawnSync(unshare[0]!, [...unshare.slice(1), 'true']).status === 0
      ? null
      : 'needs the right to make PID namespaces'

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('runs of several PID namespaces that share a cache', {
  skip: skipReason !== null,
  meta: skipReason === null ? {} : { skipReason },
}, () => {
  beforeAll(async () => {
    for (let i = 0; i < 4; i++)
      await writeTask(join(scratch, 'tasks'), `task-${i}`, { solve: `sleep 1.5\n${passingSolve}` })
    await writeTask(join(scratch, 'long'), 'task', { solve: 'sleep 300' })
  })

  test('lose no trial to each other, nor to clean on either side', async () => {
    const runs = [start('outside', []), start('inside', unshare), start('beside', unshare)]
    const ended = Promise.all(runs.map((run) => once(run, 'exit')))
    let cleaned = 0
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    while (!isOver) {
      for (const words of [[], unshare]) {
        expect(await otJson(words, 'clean', '--json')).toMatchObject({ reaped: [] })
        cleaned++
      }
    }
    expect((await ended).map(([code]) => code)).toEqual([0, 0, 0])
    expect(cleaned).toBeGreaterThan(2)
    for (const name of ['outside', 'inside', 'beside']) {
      const { stats } = JSON.parse(readFileSync(join(scratch, 'jobs', name, 'result.json'), 'utf8'))
      expect([name, stats.n_completed_trials, stats.n_errored_trials]).toEqual([name, 8, 0])
    }
    expect(readdirSync(sandboxes)).toEqual([])
  })

  test('clean knows in each of them whether an owner in another one is dead', async () => {
    for (const [of, from] of [
      [[], unshare],
      [unshare, []],
      [unshare, unshare],
    ] as const) {
      const child = start(`killed-${of.length}-${from.length}`, of, 'long')
      await expect.poll(() => leases().length).toBeGreaterThan(0)
      expect(await otJson([...from], 'clean', '--dry-run', '--json')).toMatchObject({ reaped: [], left: [] })
      child.kill('SIGKILL')
      await once(child, 'exit')
      await expect.poll(async () => (await otJson([...from], 'clean', '--json')).left).toEqual([])
      await expect.poll(() => readdirSync(sandboxes)).toEqual([])
    }
  })

  // Node is the first process there, and reaps only its own children.
  test('end their sandboxes where process 1 does not reap what a killed command leaves', async () => {
    const toml = 'schema_version = "1.2"\n[agent]\ntimeout_sec = 1\n[environment]\nallow_internet = false\n'
    const task = await writeTask(join(scratch, 'slow'), 'slow', { toml, solve: 'sleep 1000' })
    const child = ot(
      unshare,
      ['run', '-p', task, '-a', 'oracle', '-e', 'local', '-q', '-o', join(scratch, 'jobs')],
      quiet,
    )
    const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
    const [code, signal] = await once(child, 'exit')
    clearTimeout(late)
    expect([code, signal]).toEqual([0, null])
    expect(readdirSync(sandboxes)).toEqual([])
  })
})

function leases(): string[] {
  try {
    return readdirSync(sandboxes)
  } catch {
    return []
  }
}

const quiet: ('ignore' | 'inherit')[] = ['ignore', 'ignore', 'inherit']

function start(job: string, words: readonly string[], tasks = 'tasks'): ChildProcess {
  const args = ['run', '-p', join(scratch, tasks), '-a', 'oracle', '-e', 'local', '-n', '3', '-k', '2', '-q']
  return ot(words, [...args, '-o', join(scratch, 'jobs'), '--job-name', job], quiet)
}

async function otJson(words: readonly string[], ...args: string[]) {
  const child = ot(words, args, ['ignore', 'pipe', 'inherit'])
  let text = ''
  child.stdout?.on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
  return JSON.parse(text)
}

function ot(words: readonly string[], args: readonly string[], stdio: ('ignore' | 'pipe' | 'inherit')[]): ChildProcess {
  const [program = '', ...rest] = [...words, process.execPath, resolve('bin/ot-agent.js'), ...args]
  return spawn(program, rest, { env: { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }, stdio })
}
