import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { writeTask } from '../fakes/tasks.ts'

/** What a job uses at one moment: all of its processes together, and the machine's mounts and control groups. */
interface Held {
  readonly trials: number
  readonly memoryKiB: number
  readonly processes: number
  readonly descriptors: number
  readonly mounts: number
  readonly groups: number
}

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'ot-growth-'))
  for (const name of ['tmp', 'cache', 'home', 'jobs']) mkdirSync(join(place, name))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

describe.skipIf(missingPrograms().length > 0)('a long job (needs bubblewrap)', () => {
  const scripted = ['-m', 'scripted/stand-in', '--engine', 'scripted', '--engine-kwarg', 'tasks={tasks}']
  test.each([
    ['oracle', 5000, []],
    ['terminus-2', 1000, scripted],
  ] as const)('of %s holds no more after %i trials than after the first fifth', async (agent, trials, model) => {
    const before = held([])
    await runJob(agent, 'short', 50, model)
    const left = leftFiles()
    const samples = await runJob(agent, 'long', trials, model)
    const early = samples.filter((each) => each.trials > trials * 0.15 && each.trials < trials * 0.3)
    const late = samples.filter((each) => each.trials > trials * 0.85)
    process.stderr.write(`${agent}: ${JSON.stringify({ early: early.map(known), late: late.map(known) })}\n`)
    expect(Math.min(early.length, late.length)).toBeGreaterThan(2)
    const growth = (key: keyof Held) => middle(late, key) - middle(early, key)
    // Garbage comes and goes; all that stays of a finished trial is its line in the summary.
    expect(growth('memoryKiB')).toBeLessThan(24_000 + trials * 4)
    for (const key of ['processes', 'descriptors', 'mounts', 'groups'] as const)
      expect([key, growth(key)]).toEqual([key, expect.toSatisfy((more: number) => more <= atOnce * 4)])
    const { mounts, groups } = held([])
    expect({ mounts, groups }).toEqual({ mounts: before.mounts, groups: before.groups })
    expect(leftFiles()).toEqual(left)
  })
})

const known = ({ trials, memoryKiB, descriptors }: Held) => [trials, memoryKiB, descriptors]
const middle = (of: readonly Held[], key: keyof Held) =>
  of.map((each) => each[key]).sort((a, b) => a - b)[of.length >> 1]!

const atOnce = 8

/** Runs a job to its end, recording what it uses every second. */
async function runJob(agent: string, name: string, trials: number, model: readonly string[]): Promise<Held[]> {
  const tasks = join(place, 'tasks')
  for (let i = 0; i < 50; i++) await writeTask(tasks, `task-${i}`)
  const how = ['-a', agent, ...model.map((each) => each.replace('{tasks}', tasks))]
  const which = ['-p', tasks, '-k', String(trials / 50), '-n', String(atOnce)]
  const where = ['-o', join(place, 'jobs'), '--job-name', name, '-q']
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), 'run', ...which, ...how, ...where], {
    env: {
      ...process.env,
      TMPDIR: join(place, 'tmp'),
      XDG_CACHE_HOME: join(place, 'cache'),
      HOME: join(place, 'home'),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const samples: Held[] = []
  const timer = setInterval(() => samples.push(held(family(child.pid as number), name)), 1000)
  const [code] = await once(child, 'close')
  clearInterval(timer)
  expect(code).toBe(0)
  expect(finished(name)).toBe(trials)
  return samples
}

function held(pids: readonly number[], job = ''): Held {
  const memoryOf = (pid: number) => Number(/^RssAnon:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
  const sum = (of: (pid: number) => number) => pids.reduce((total, pid) => total + of(pid), 0)
  return {
    trials: finished(job),
    memoryKiB: sum(memoryOf),
    processes: pids.length,
    descriptors: sum((pid) => names(`/proc/${pid}/fd`).length),
    mounts: read('/proc/self/mountinfo').split('\n').length,
    groups: names('/sys/fs/cgroup', true).filter((name) => name.endsWith('cgroup.procs')).length,
  }
}

/** A process and all its descendants. */
function family(pid: number): number[] {
  const children = names(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(family)]
}

function finished(job: string): number {
  return names(join(place, 'jobs', job)).filter((name) => name.includes('__')).length
}

/** Files that ended jobs left outside their folders. */
const leftFiles = () => ['tmp', 'cache', 'home'].flatMap((dir) => names(join(place, dir), true)).sort()

/** The entries of a directory; processes and their directories may disappear meanwhile. */
function names(dir: string, below = false): string[] {
  try {
    return readdirSync(dir, { recursive: below }) as string[]
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
