import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }
const tasks = join(scratch, 'tasks')
const jobs = join(scratch, 'jobs')
const sandboxes = join(scratch, 'cache/ot-agent/local/sandboxes')

withSandboxes('ot-agent run', () => {
  beforeAll(async () => {
    for (const name of ['one', 'two', 'three']) await writeTask(tasks, name)
    await writeTask(join(scratch, 'no-tests'), 'bare', { files: { 'tests/test.sh': null } })
    await writeTask(join(scratch, 'bad-toml'), 'broken', { toml: 'x = [' })
    await writeTask(join(scratch, 'needs-var'), 'var', { toml: `[environment.env]\nA = "\${NOT_SET_ANYWHERE}"\n` })
    mkdirSync(join(scratch, 'empty'))
    writeFileSync(join(scratch, 'job.yaml'), 'n_concurent: 3\nagents: [{name: 5}]\n')
    await writeTask(join(scratch, 'unreadable'), 'odd', {
      files: { 'instruction.md': null, 'instruction.md/inside': '' },
    })
  })

  test('prints one JSON document and nothing else on stdout', () => {
    const { status, stdout } = ot('run', '-p', tasks, '-k', '2', '-n', '3', '-o', jobs, '--job-name', 'json', '--json')
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      jobDir: join(jobs, 'json'),
      finished: true,
      totalTrials: 6,
      ends: { scored: 6, failed: 0, meanOverAll: 1 },
      evals: { oracle__tasks: { metrics: [{ mean: 1 }], passAtK: { 2: 1 }, ends: { trials: 6 } } },
    })
  })

  test('ends with 3 when a trial failed, after saying where', async () => {
    await writeTask(join(scratch, 'endless'), 'endless', { test: 'sleep 60' })
    const { status, stdout } = ot(
      'run',
      '-p',
      join(scratch, 'endless'),
      '-o',
      jobs,
      '--job-name',
      'failing',
      '--set',
      'verifier.override_timeout_sec=0.1',
    )
    expect(status).toBe(3)
    expect(stdout).toMatch(/verifier 1/)
  })

  test('shows what a failing RUN printed without letting it command the terminal', async () => {
    const dir = join(scratch, 'colourful')
    const files = {
      'environment/Dockerfile': String.raw`FROM debian
RUN printf '\033]0;owned\007\033[2J\033[31mred\r' >&2; exit 7
`,
    }
    await writeTask(dir, 'colourful', { files })
    for (const args of [
      ['run', '-p', dir, '-o', jobs, '--job-name', 'colourful', '--verbose'],
      ['tasks', 'check', dir],
    ]) {
      const { status, stdout, stderr } = ot(...args)
      expect(status, args[0]).toBe(3)
      expect(stdout + stderr).toContain('red')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
      expect(stdout + stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    }
  })

  test('passes tasks only the variables of this machine that were named for the run', async () => {
    const dir = join(scratch, 'curious')
    const toml = `[environment.env]\nA = "\${PATH:-none}"\n[verifier.env]\nB = "\${HOME:-none}"\n`
    await writeTask(dir, 'curious', { toml })
    const curious = ['run', '-p', dir, '-o', jobs, '--job-name']
    const refused = ot(...curious, 'refused', '--pass-env', 'PATH')
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toMatch(/this run does not allow: HOME\n.*--pass-env HOME/)
    expect(existsSync(join(jobs, 'refused'))).toBe(false)
    expect(ot('tasks', 'check', dir)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/does not allow: PATH, HOME\n/),
    })
    expect(ot(...curious, 'named', '--pass-env', 'PATH', '--pass-env', 'HOME').status).toBe(0)
    writeFileSync(join(scratch, 'vars.env'), 'PATH=x\nHOME=y\n')
    expect(ot(...curious, 'from-file', '--env-file', join(scratch, 'vars.env')).status).toBe(0)
  })

  test.each<[string, string[], RegExp]>([
    ['a missing path', ['-p', 'nowhere'], /nowhere: expected a task or a folder of tasks, found nothing/],
    ['a folder without tasks', ['-p', 'empty'], /empty: expected a task\.toml/],
    ['broken TOML', ['-p', 'bad-toml'], /error: \S+task\.toml:1:5: expected TOML/],
    ['a task without tests', ['-p', 'no-tests'], /no tests\/test\.sh/],
    ['a file that cannot be read', ['-p', 'unreadable'], /instruction\.md: expected a file/],
    [
      'an unknown agent',
      ['-p', 'tasks', '-a', 'oracl'],
      /unknown agent "oracl"\nhint: did you mean oracle\? known: .*nop/,
    ],
    ['an unknown sandbox', ['-p', 'tasks', '-e', 'moon'], /unknown sandbox "moon"\nhint: known: .*local/],
    ['an unknown option of the agent', ['-p', 'tasks', '--ak', 'speed=3'], /speed/],
    [
      'a jobs directory that cannot be written to',
      ['-p', 'tasks', '-o', '/proc/jobs'],
      /\/proc\/jobs: expected a writable directory for jobs/,
    ],
    ['a jobs directory below a file', ['-p', 'tasks', '-o', 'job.yaml/jobs'], /got ENOTDIR/],
    [
      'a result file below a file',
      ['-p', 'tasks', '--output', 'job.yaml/x'],
      /--output: expected a writable file.*ENOTDIR/,
    ],
    ['a job file with a wrong value', ['-c', 'job.yaml'], /agents\[0\]\.name: expected a text, got 5/],
    [
      'a wrong --set',
      ['-p', 'tasks', '--set', 'n_atempts=2'],
      /n_atempts is not a key.*\nhint: did you mean n_attempts\?/,
    ],
    ['a variable that is not set', ['-p', 'needs-var'], /needs the host variable NOT_SET_ANYWHERE/],
    ['a filter that leaves nothing', ['-p', 'tasks', '-i', 'z*'], /but none of 3/],
    [
      'a dataset of a registry',
      ['--set', 'datasets=[{"name":"terminal-bench"}]'],
      /expected a folder of tasks or the name of a benchmark/,
    ],
    ['no tasks at all', [], /expected tasks to run, got none/],
    ['a job name with a slash', ['-p', 'tasks', '--job-name', '../x'], /expected a name for a directory/],
    [
      "another job's directory",
      ['-p', 'tasks', '-o', 'jobs', '--job-name', 'json', '-a', 'nop', '-k', '2'],
      /agent was oracle, is nop/,
    ],
  ])('refuses %s in two lines, with exit code 2, and writes nothing', (_, argv, message) => {
    const before = [...listing(scratch), ...listing(jobs)]
    const { status, stdout, stderr } = ot('run', ...(argv.includes('-o') ? argv : ['-o', 'new-jobs', ...argv]))
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/^error: .+\nhint: .+\n$/)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect([...listing(scratch), ...listing(jobs)]).toEqual(before)
  })

  test('stops cleanly on the first Ctrl-C, and the same line then finishes', async () => {
    for (const name of ['s1', 's2', 's3'])
      await writeTask(join(scratch, 'slow'), name, { solve: 'sleep 2; echo 42 > /answer' })
    const line = ['run', '-p', 'slow', '-n', '2', '-o', 'jobs', '--job-name', 'stopped', '--json']
    const child = spawn(process.execPath, [bin, ...line], { cwd: scratch, env, stdio: 'ignore' })
    await until(() => readdirSafe(sandboxes).length >= 2)
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([130, null])
    expect(JSON.parse(ot('clean', '--dry-run', '--json').stdout).reaped).toEqual([])
    expect(readdirSafe(sandboxes)).toEqual([])
    expect(recordKinds(join(jobs, 'stopped')).filter((kind) => kind !== 'cancelled')).toEqual([])
    const again = ot(...line)
    expect(again.stderr).toContain('resuming the job')
    expect(JSON.parse(again.stdout)).toMatchObject({
      continued: true,
      finished: true,
      ends: { trials: 3, scored: 3, cancelled: 0 },
    })
  })
})

function ot(...argv: string[]) {
  return spawnSync(process.execPath, [bin, ...argv], { cwd: scratch, env, encoding: 'utf8' })
}

function listing(dir: string): string[] {
  return readdirSafe(dir)
    .filter((name) => name !== 'cache')
    .sort()
}

function readdirSafe(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : []
}

function recordKinds(jobDir: string): string[] {
  const files = readdirSync(jobDir)
    .map((name) => join(jobDir, name, 'record.json'))
    .filter(existsSync)
  return files.map((file) => JSON.parse(readFileSync(file, 'utf8')).end.kind)
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((wait) => setTimeout(wait, 20))
}
