import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const secret = 'not-for-tasks-5f1c'
const tasks = join(scratch, 'tasks')
const job = join(scratch, 'jobs/job')
const named = ['--pass-env', 'OTHER_SECRET', '--pass-env', 'MY_SECRET']
const refusal =
  /environment variables of this machine that this run does not allow: (MY|OTHER)_SECRET.*--pass-env (MY|OTHER)_SECRET/s

withSandboxes('a task that names variables of this machine', () => {
  beforeAll(async () => {
    const toml = `[environment.env]\nA = "\${MY_SECRET:-none}"\n[verifier.env]\nB = "\${OTHER_SECRET:-none}"\n`
    await writeTask(tasks, 'curious', { toml })
    expect(ot('run', '-p', tasks, '-o', join(scratch, 'jobs'), '--job-name', 'job', '-q', ...named).status).toBe(0)
  })

  test.each<[string, string[]]>([
    ['jobs rescore', ['jobs', 'rescore', job]],
    ['tasks check', ['tasks', 'check', tasks]],
    ['tasks pin', ['tasks', 'pin', tasks, '--dry-run']],
    ['agents test', ['agents', 'test', 'oracle', '--task', join(tasks, 'curious')]],
  ])('%s passes on only those that were named for it', (_, line) => {
    const { status, stdout, stderr } = ot(...line, ...named.slice(0, 2))
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/this run does not allow: MY_SECRET\nhint: --pass-env MY_SECRET passes/)
    expect(ot(...line, ...named).stderr).not.toMatch(refusal)
  })

  test.each<[string, string[]]>([
    ['jobs resume', ['jobs', 'resume', job]],
    ['jobs retry', ['jobs', 'retry', job, '--only', 'failed']],
  ])('%s asks for nothing when all trials have ended, and else runs none before all are named', (_, line) => {
    expect(ot(...line, '-q')).toMatchObject({ status: 0 })
    const [trial = ''] = readdirSync(job).filter((name) => name.startsWith('curious__'))
    for (const file of [join(trial, 'result.json'), 'result.json']) rmSync(join(job, file))
    const { status, stdout, stderr } = ot(...line, ...named.slice(0, 2))
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/this run does not allow: MY_SECRET\nhint: --pass-env MY_SECRET passes/)
    expect(existsSync(join(job, trial, 'result.json'))).toBe(false)
    expect(ot(...line, '-q', ...named)).toMatchObject({ status: 0 })
    expect(existsSync(join(job, trial, 'result.json'))).toBe(true)
  })

  test('the rollouts of a recipe pass on only those that were named for it, and so does their replay', () => {
    const teacher = { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } }
    const stages = [
      { id: 'tasks', use: 'sources/task-folder', with: { path: tasks } },
      { id: 'rollout', use: 'rollouts/agent', with: { teacher, sandbox: 'local' } },
      { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0, replay: 'require' } },
    ]
    const [file, out] = [join(scratch, 'curious.ts'), join(scratch, 'curious')]
    writeFileSync(file, `export default ${JSON.stringify({ name: 'curious', seed: 1, stages })}\n`)
    const run = ['recipe', 'run', file, '-o', out, '-q']
    const refused = ot(...run)
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringMatching(refusal) })
    const ran = ot(...run, ...named)
    expect(ran.status, ran.stderr).toBe(0)
    expect(readFileSync(join(out, 'out/dataset/README.md'), 'utf8')).toContain('1 of 1 hold')
    const again = ['traces', 'replay', join(out, 'out/dataset'), '--tasks', tasks]
    expect(ot(...again)).toMatchObject({ status: 3, stdout: expect.stringMatching(refusal) })
    expect(ot(...again, ...named)).toMatchObject({ status: 0, stdout: expect.stringContaining('1 of 1 rows hold') })
  })

  test('a recipe that checks tasks drops it with the reason', () => {
    const stages = [
      { id: 'tasks', use: 'sources/task-folder', with: { path: tasks } },
      { id: 'check', use: 'filters/tasks/verified', with: { sandbox: 'local' } },
    ]
    const [file, out] = [join(scratch, 'checked.ts'), join(scratch, 'checked')]
    writeFileSync(file, `export default ${JSON.stringify({ name: 'checked', seed: 1, stages })}\n`)
    const { stdout, stderr } = ot('recipe', 'run', file, '-o', out, '-q')
    expect(stdout, stderr).toMatch(/host-variables/)
  })
})

function ot(...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }
  return spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...args], {
    cwd: scratch,
    env: { ...env, MY_SECRET: secret, OTHER_SECRET: secret },
    encoding: 'utf8',
  })
}
