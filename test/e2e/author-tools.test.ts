import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import type { IPty } from '@lydell/node-pty'
import { beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { read, schemaAt } from '../json-schemas.ts'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH ?? '', HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache'), TERM: 'xterm' }
const tasks = join(scratch, 'tasks')
const task = join(tasks, 'good')
const sandboxes = join(env.XDG_CACHE_HOME, 'ot-agent/local/sandboxes')

const ot = (...argv: string[]) => spawnSync(process.execPath, [bin, ...argv], { cwd: scratch, env, encoding: 'utf8' })

beforeAll(async () => {
  await writeTask(tasks, 'good')
  await writeTask(tasks, 'bad', { files: { 'tests/test.sh': '#!/bin/bash\nif\n' } })
  await writeTask(tasks, 'unreadable', { toml: 'x = [' })
})

test('tasks lint names file, rule and severity, and exits with 3', () => {
  const { status, stdout } = ot('tasks', 'lint', 'tasks')
  expect(status).toBe(3)
  expect(stdout).toMatch(/^tasks\/bad\/tests\/test\.sh: error: .+ \(script-syntax\)$/m)
  expect(stdout).toMatch(/^tasks\/unreadable: error: .+ \(task-unreadable\)$/m)
  expect(stdout).not.toMatch(/^tasks\/good.*: error/m)
})

test('tasks lint --json is one document, and paths may be several', () => {
  const { status, stdout } = ot('tasks', 'lint', 'tasks/good', 'tasks/bad', '--json')
  expect(status).toBe(3)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ schema: 'tasks-lint/1', errors: 2, warnings: 2 })
  expect(report.tasks.map(({ dir }: { dir: string }) => dir)).toEqual([join(tasks, 'bad'), task])
  expect(existsSync(sandboxes)).toBe(false)
})

test('tasks shell wants a terminal', () => {
  const { status, stderr } = ot('tasks', 'shell', task)
  expect({ status, stderr }).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^error: .*terminal.*\nhint: .+\n$/),
  })
})

withSandboxes('with sandboxes', () => {
  test('run --print-config prints a job file that runs, without secrets', () => {
    const asked = ['-p', task, '-k', '2', '--job-name', 'printed', '-o', 'jobs', '--ae', 'API_KEY=not-for-files-1234']
    const { status, stdout } = ot('run', ...asked, '--print-config')
    expect(status).toBe(0)
    expect(stdout).not.toContain('not-for-files-1234')
    expect(existsSync(join(scratch, 'jobs'))).toBe(false)
    const document = JSON.parse(stdout)
    schemaAt('job').parse(document)
    expect(document).toMatchObject({ job_name: 'printed', n_attempts: 2, jobs_dir: join(scratch, 'jobs') })
    writeFileSync(join(scratch, 'printed.json'), JSON.stringify({ ...document, agents: [{ name: 'oracle' }] }))
    expect(ot('run', '-c', 'printed.json', '-q').status).toBe(0)
    const job = join(scratch, 'jobs/printed')
    const trials = readdirSync(job).filter((name) => existsSync(join(job, name, 'record.json')))
    expect(trials.length).toBe(2)
    for (const trial of trials) {
      schemaAt('trial-record').parse(JSON.parse(read(join(job, trial, 'record.json'))))
      schemaAt('trial-config').parse(JSON.parse(read(join(job, trial, 'config.json'))))
    }
  })

  test('tasks shell is a terminal in the solved task, and its exit code is that of the shell', async () => {
    const shell = open('--solve', '--tests')
    await shell.until(/[#$] $/)
    // Ctrl-C is meant for the program inside.
    shell.pty.write('stty size; ls -d /tests/test.sh; echo st""arted; sleep 1000\r')
    await shell.until(/started/)
    // A shell that is just starting `sleep` receives the signal itself and goes on waiting.
    const again = setInterval(() => shell.pty.write('\x03'), 500)
    await shell.until(/\^C[\s\S]*[#$] $/).finally(() => clearInterval(again))
    shell.pty.write('exit 7\r')
    const { exitCode } = await shell.ended
    expect({ exitCode, left: readdirSync(sandboxes) }).toEqual({ exitCode: 7, left: [] })
    expect(shell.output()).toMatch(/the solution ended with exit code 0/)
    expect(shell.output()).toMatch(/31 97\s+\/tests\/test\.sh\s/)
  })

  test('a shell that is stopped leaves no sandbox behind, and one that is killed leaves it to clean', async () => {
    const stopped = open()
    await stopped.until(/[#$] $/)
    stopped.pty.kill('SIGTERM')
    expect((await stopped.ended).exitCode).toBe(130)
    expect(readdirSync(sandboxes)).toEqual([])
    const killed = open()
    await killed.until(/[#$] $/)
    killed.pty.kill('SIGKILL')
    await killed.ended
    expect(ot('clean').status).toBe(0)
    expect(readdirSync(sandboxes)).toEqual([])
  })
})

/** `ot-agent tasks shell` in a terminal. */
function open(...flags: string[]) {
  const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as typeof import('@lydell/node-pty')
  const argv = [bin, 'tasks', 'shell', task, ...flags]
  const pty: IPty = spawn(process.execPath, argv, { cols: 97, rows: 31, cwd: scratch, env })
  let output = ''
  const changed = new EventTarget()
  pty.onData((chunk) => {
    output += chunk
    changed.dispatchEvent(new Event('data'))
  })
  const ended = new Promise<{ exitCode: number }>((done) => pty.onExit(done))
  const until = async (text: RegExp) => {
    while (!text.test(output)) await once(changed, 'data')
  }
  return { pty, ended, until, output: () => output }
}
