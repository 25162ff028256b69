import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findProgram } from '../../src/lib/programs.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { passingSolve, passingTest, writeTask } from '../fakes/tasks.ts'
import { canMount, mountSmallDisk, unmountSmallDisk } from '../small-disk.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-faults-'))
const jobs = join(scratch, 'jobs')
for (const dir of [scratch, jobs, join(scratch, 'home'), join(scratch, 'home/checkout')]) {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o777)
}
const hasDisk = canMount(jobs)
const trials = 4
/** A duration that no other process on this machine sleeps for. */
const nap = `1.${process.pid}`

/** Tests that need memory, and blame the agent if they cannot get it. */
const hungryTest = `dd if=/dev/zero of=/dev/null bs=150M count=1 || { echo 0 > /logs/verifier/reward.txt; exit; }
${passingTest}`

/** A control group with a process limit that can be exhausted, if tests may create one. */
const pids = join('/sys/fs/cgroup/pids', `ot-faults-${process.pid}`)
const hasPids = canMake(pids)

beforeAll(async () => {
  if (hasDisk) {
    mountSmallDisk(jobs, '32m')
    chmodSync(jobs, 0o777)
  }
  for (let i = 0; i < trials; i++)
    await writeTask(join(scratch, 'tasks'), `task-${i}`, { solve: `sleep ${nap}\n${passingSolve}`, test: hungryTest })
})

afterAll(() => {
  if (hasPids) rmdirSync(pids)
  if (hasDisk) unmountSmallDisk(jobs)
  rmSync(scratch, { recursive: true, force: true })
})

const becomeUser = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']

/** The same command line as a user without root, with a checkout that user can reach. */
const home = join(scratch, 'home')
const asUser = `mount --bind ${resolve('.')} ${home}/checkout && cd ${home}/checkout && export XDG_CACHE_HOME=${home} HOME=${home} &&
exec ${becomeUser.join(' ')} "$@"`

/** What the runner loses while trials are running, and how to restore it. */
interface Fault {
  readonly take: (pid: number) => void
  readonly restore: (pid: number) => void
}

const descriptors: Fault = {
  take: (pid) => prlimit(pid, 'nofile', '10'),
  restore: (pid) => prlimit(pid, 'nofile', '4096'),
}

/** Applies above the sandboxes' own groups: their processes are killed although none has reached its own limit. */
const memory: Fault = {
  take: () => writeFileSync(join(sandboxes(), 'memory.limit_in_bytes'), '64M'),
  restore: () => writeFileSync(join(sandboxes(), 'memory.limit_in_bytes'), '-1'),
}

/** A file unrelated to the job takes the disk's last byte. */
const disk: Fault = {
  take: () => void spawnSync('dd', ['if=/dev/zero', `of=${jobs}/filler`, 'bs=64k'], { stdio: 'ignore' }),
  restore: () => rmSync(join(jobs, 'filler')),
}

const processes: Fault = {
  take: () => writeFileSync(join(pids, 'pids.max'), '1'),
  restore: () => writeFileSync(join(pids, 'pids.max'), 'max'),
}

describe.skipIf(missingPrograms().length > 0 || findProgram('prlimit') === null || !hasPids)(
  'a machine that runs out (needs bubblewrap, prlimit and a control group of its own)',
  () => {
    test.each([
      ['file descriptors', [descriptors]],
      ['processes', [processes]],
      ['memory', [memory]],
      ['file descriptors, processes and memory', [memory, descriptors, processes]],
    ])('of %s for a while: every trial is scored as ever, with fewer at once', async (name, faults) => {
      const job = `while-${name.replaceAll(/\W+/g, '-')}`
      const running = start(job)
      await running.sleeps()
      for (const fault of faults) fault.take(running.pid)
      await running.says(/ran out of .* with 4 concurrent trials; now running 2 at a time/)
      for (const fault of faults) fault.restore(running.pid)
      const { code, stderr } = await running.ended
      expect(code, stderr).toBe(0)
      expect(stderr).not.toMatch(/^\s+at /m)
      expect(endings(job)).toEqual(Array.from({ length: trials }, () => ({ reward: 1 })))
      expectNothingLeft()
    })

    test('of processes for good: every trial fails with the sandbox to blame, and runs once they are available again', async () => {
      const running = start('no-processes')
      await running.sleeps()
      processes.take(running.pid)
      const { code, stderr } = await running.ended
      processes.restore(running.pid)
      expect(code, stderr).toBe(3)
      expect(stderr).not.toMatch(/^\s+at /m)
      const blamed = { boundary: 'sandbox', code: 'MachineExhaustedError' }
      expect(endings('no-processes')).toEqual(Array.from({ length: trials }, () => blamed))
      await expectRerun('no-processes')
    })

    test('of file descriptors for good: the job stops in two lines, and the same command finishes it', async () => {
      const running = start('no-descriptors')
      await running.sleeps()
      descriptors.take(running.pid)
      const { code, stderr } = await running.ended
      expect(code, stderr).toBe(3)
      expect(stderr).toMatch(/^error: .*this machine has run out of file descriptors; the job stopped\nhint: .*$/m)
      expect(stderr).not.toMatch(/^\s+at /m)
      await expectRerun('no-descriptors')
    })

    test.skipIf(!hasDisk).each([
      ['room for its records', [disk]],
      ['room for its records and of processes', [disk, processes]],
    ])('of %s: the job stops in two lines, and the same command finishes it', async (name, faults) => {
      const job = `no-${name.replaceAll(' ', '-')}`
      const running = start(job)
      await running.sleeps()
      for (const fault of faults) fault.take(running.pid)
      const { code, stderr } = await running.ended
      for (const fault of faults) fault.restore(running.pid)
      expect(code, stderr).toBe(2)
      expect(stderr).toMatch(/^error: the disk of \S+ is full; the job stopped\nhint: .*$/m)
      expect(stderr).not.toMatch(/^\s+at /m)
      await expectRerun(job)
    })

    test('of processes for an ordinary user, for a while: every trial is scored as ever', async () => {
      const running = start('user', undefined, asUser)
      await running.sleeps()
      prlimit(running.pid, 'nproc', '1', becomeUser)
      await running.says(/ran out of processes with 4 concurrent trials; now running 2 at a time/)
      prlimit(running.pid, 'nproc', '4096', becomeUser)
      const { code, stderr } = await running.ended
      expect(code, stderr).toBe(0)
      expect(endings('user')).toEqual(Array.from({ length: trials }, () => ({ reward: 1 })))
    })

    test('a run that needs more descriptors than it can have says so, and how many fit, before it starts', async () => {
      const line = `ulimit -n 140 && exec "$@"`
      const { code, stderr } = await start('too-many', ['-n', '16', '-k', '4'], line).ended
      expect(code, stderr).toBe(3)
      expect(stderr).toMatch(
        /^error: 16 concurrent trials need about \d+ file descriptors, but ulimit -n is 140 and leaves \d+\nhint: run at most \d+ at a time \(-n \d+\), or raise ulimit -n\n$/,
      )
      expect(existsSync(join(jobs, 'too-many'))).toBe(false)
      const [, fits = ''] = /-n (\d+)\)/.exec(stderr) ?? []
      const fitting = await start('fitting', ['-n', fits], line).ended
      expect(fitting.code, fitting.stderr).toBe(0)
    })

    test('a run that needs more processes than its control group can have says so before it starts', async () => {
      const line = `echo 60 > ${pids}/pids.max; echo $$ > ${pids}/cgroup.procs; exec "$@"`
      const { code, stderr } = await start('crowd', ['-n', '16', '-k', '4'], line).ended
      processes.restore(0)
      expect(code, stderr).toBe(3)
      expect(stderr).toMatch(
        /^error: 16 concurrent trials need about \d+ processes, but pids.max of \S+ is 60 and leaves \d+\n/,
      )
      expect(existsSync(join(jobs, 'crowd'))).toBe(false)
    })
  },
)

/** Runs the job's command line after a line of shell. */
function start(job: string, args = ['-n', String(trials)], before = `echo $$ > ${pids}/cgroup.procs; exec "$@"`) {
  const line = ['run', '-p', join(scratch, 'tasks'), '-a', 'oracle', '-e', 'local', '-q']
  const where = ['-o', jobs, '--job-name', job]
  const argv = [process.execPath, 'bin/ot-agent.js', ...line, ...where, ...args]
  const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', before, 'sh', ...argv], {
    env: { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, stderr }))
  const until = async (isSo: () => boolean) => {
    while (!isSo()) {
      if (child.exitCode !== null) throw new Error(`it ended before:\n${stderr}`)
      await wait(20)
    }
  }
  return {
    pid: child.pid ?? 0,
    ended,
    /** Agents are working in their sandboxes. */
    sleeps: () => until(() => napping() > 0),
    says: (pattern: RegExp) => until(() => pattern.test(stderr)),
  }
}

async function expectRerun(job: string): Promise<void> {
  const { code, stderr } = await start(job).ended
  expect(code, stderr).toBe(0)
  expect(endings(job)).toEqual(Array.from({ length: trials }, () => ({ reward: 1 })))
  expectNothingLeft()
}

/** How a job's trials ended: with a reward, or blamed on a boundary. */
function endings(job: string): object[] {
  const dir = join(jobs, job)
  return readdirSync(dir)
    .filter((name) => existsSync(join(dir, name, 'record.json')))
    .map((name) => JSON.parse(readFileSync(join(dir, name, 'record.json'), 'utf8')))
    .map(({ end }) =>
      end.kind === 'scored'
        ? { reward: end.rewards.reward }
        : { boundary: end.failure?.boundary, code: end.failure?.code },
    )
}

function expectNothingLeft(): void {
  const cache = join(scratch, 'cache/ot-agent/local')
  expect(readdirSync(join(cache, 'sandboxes'))).toEqual([])
  expect(readdirSync(join(cache, 'quarantine'))).toEqual([])
  expect(napping()).toBe(0)
}

function napping(): number {
  const pidsNow = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pidsNow.filter((pid) => commandOf(pid) === `sleep\0${nap}\0`).length
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Only the soft limit, which can be raised again. The process's own user may always do that. */
function prlimit(pid: number, name: 'nofile' | 'nproc', limit: string, as: readonly string[] = []): void {
  const [program = '', ...args] = [...as, 'prlimit', `--pid=${pid}`, `--${name}=${limit}:`]
  execFileSync(program, args)
}

/** The memory control group of all sandboxes of this file. */
function sandboxes(): string {
  const home = join(scratch, 'cache/ot-agent/local')
  return `/sys/fs/cgroup/memory/ot-agent-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`
}

function canMake(dir: string): boolean {
  try {
    mkdirSync(dir)
    return existsSync(join(dir, 'pids.max'))
  } catch {
    return false
  }
}
