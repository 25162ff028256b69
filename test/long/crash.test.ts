import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { passingSolve, writeTask } from '../fakes/tasks.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-crash-'))
const cache = join(scratch, 'cache')
/** The two ways in which local sandboxes start: with the starter, and without it. */
const ways = { crash: [], 'crash-without-starter': ['--ek', 'ids=host'] } as const
type Way = keyof typeof ways
const jobDirOf = (way: Way) => join(scratch, 'jobs', way)
const kills = 20
const tasks = 12
const attempts = 5
const trials = tasks * attempts

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe.skipIf(missingPrograms().length > 0)('kill -9 at any moment (needs bubblewrap)', () => {
  test.each(Object.keys(ways) as Way[])(
    `%s: a ${trials}-trial job killed ${kills} times at random moments ends with every trial once, and nothing left`,
    async (way) => {
      for (let i = 0; i < tasks; i++) {
        await writeTask(join(scratch, 'tasks'), `task-${i}`, { solve: `sleep 0.4\n${passingSolve}` })
      }
      const moments: number[] = []
      while (moments.length < kills) {
        const ms = Math.round(100 + Math.random() * 1400)
        moments.push(ms)
        // Usually the kill waits for the first sandbox, which alone takes longer on a busy machine.
        if (!(await killedAfter(way, ms, moments.length % 4 !== 0))) break
      }
      const last = await finished(way)
      const seen = `killed after ${moments.join(', ')} ms`
      expect(last.code, `${seen}\n${last.stderr}`).toBe(0)
      expectEveryTrialOnce(jobDirOf(way), seen)
      ot('clean')
      // The last processes of killed runs may still be exiting.
      await vi.waitFor(() => expectNothingLeft(seen), { timeout: 120_000 })
    },
  )
})

const line = ['run', '-p', join(scratch, 'tasks'), '-a', 'oracle', '-e', 'local', '-n', '6', '-k', String(attempts)]

function start(way: Way) {
  const words = [...line, '-o', join(scratch, 'jobs'), '--job-name', way, '-q', ...ways[way]]
  return spawn(process.execPath, [resolve('bin/ot-agent.js'), ...words], {
    env: { ...process.env, XDG_CACHE_HOME: cache },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

function namesInSandboxes(): readonly string[] {
  const dir = join(cache, 'ot-agent/local/sandboxes')
  return existsSync(dir) ? readdirSync(dir) : []
}

/** Runs the job's command line and kills it; false if it finished first. */
async function killedAfter(way: Way, ms: number, fromSandbox: boolean): Promise<boolean> {
  const child = start(way)
  child.stderr.resume()
  const exit = once(child, 'exit')
  const hasSandbox = () => namesInSandboxes().some((name) => name.includes(`-${child.pid}-`))
  while (fromSandbox && child.exitCode === null && !hasSandbox()) await wait(10)
  const first = await Promise.race([wait(ms, 'time'), exit])
  if (first !== 'time') return false
  child.kill('SIGKILL')
  await exit
  return true
}

async function finished(way: Way): Promise<{ code: number; stderr: string }> {
  const child = start(way)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr }
}

function expectEveryTrialOnce(jobDir: string, seen: string): void {
  const names = readdirSync(jobDir).filter((name) => existsSync(join(jobDir, name, 'result.json')))
  const results = names.map((name) => JSON.parse(readFileSync(join(jobDir, name, 'result.json'), 'utf8')))
  expect(results.length, seen).toBe(trials)
  expect(new Set(results.map((result) => result.id)).size).toBe(trials)
  expect(results.every((result) => result.verifier_result.rewards.reward === 1)).toBe(true)
  const perTask = new Map<string, number>()
  for (const { task_name } of results) perTask.set(task_name, (perTask.get(task_name) ?? 0) + 1)
  expect([...perTask.values()]).toEqual(Array.from({ length: tasks }, () => attempts))
  const job = JSON.parse(readFileSync(join(jobDir, 'result.json'), 'utf8'))
  expect(job).toMatchObject({
    n_total_trials: trials,
    stats: { n_completed_trials: trials, n_running_trials: 0, n_pending_trials: 0 },
  })
  expect(job.finished_at).not.toBeNull()
}

function expectNothingLeft(seen: string): void {
  expect(namesInSandboxes(), seen).toEqual([])
  const mounted = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && mountsOf(pid).includes(scratch))
  expect(
    mounted.map((pid) => `${pid} ${commandOf(pid)}`),
    seen,
  ).toEqual([])
  const name = `ot-agent-${createHash('sha256').update(join(cache, 'ot-agent/local')).digest('hex').slice(0, 8)}`
  const groups = execFileSync('find', ['/sys/fs/cgroup', '-maxdepth', '3', '-name', name], { encoding: 'utf8' })
  expect(groups, seen).toBe('')
}

function mountsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return ''
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

function ot(...args: string[]): void {
  execFileSync(process.execPath, [resolve('bin/ot-agent.js'), ...args], {
    env: { ...process.env, XDG_CACHE_HOME: cache },
  })
}
