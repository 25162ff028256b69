import { execFile } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const tasks = join(scratch, 'tasks')
const jobs = join(scratch, 'jobs')

withSandboxes('traces replay', () => {
  beforeAll(async () => {
    await writeTask(tasks, 'answer')
    await record('job')
  })

  test('says that the rows of a job hold, and costs nothing', async () => {
    const { code, stdout } = await otAgent('traces', 'replay', join(jobs, 'job'), '-q')
    expect([code, stdout]).toEqual([0, '1 of 1 rows hold\n'])
    const json = await otAgent('traces', 'replay', join(jobs, 'job'), '--verify', '--json', '-q')
    expect(JSON.parse(json.stdout)).toMatchObject({
      schema: 'replay/1',
      counts: { rows: 1, holds: 1, diverged: 0, cannot: 0 },
      rewards: { compared: 1, same: 1 },
      usage: { tokens: 0, costUsd: 0 },
      rows: [{ verdict: { kind: 'holds' }, reward: { recorded: 1, replayed: 1 } }],
    })
  })

  test('replays a dataset from elsewhere, given its tasks; one in a form for reading is refused', async () => {
    const out = join(scratch, 'dataset')
    const exported = await otAgent(
      'traces',
      'export',
      '-p',
      join(jobs, 'job'),
      '--out',
      out,
      '--format',
      'parquet,jsonl',
      '--episodes',
      'all',
    )
    expect(exported.code, exported.stderr).toBe(0)
    const [line] = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.jsonl') && name.includes('train'),
    )
    for (const path of [out, join(out, line ?? '')]) {
      const { code, stdout } = await otAgent('traces', 'replay', path, '--tasks', tasks, '-q')
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^([2-9]) of \1 rows hold\n$/)])
    }
    const homeless = await otAgent('traces', 'replay', out, '-q')
    expect(homeless).toMatchObject({ code: 3, stdout: expect.stringMatching(/its task no longer exists/) })
    const otherForm = await otAgent(
      'traces',
      'replay',
      out,
      '--tasks',
      tasks,
      '--ak',
      'parser_name=xml',
      '--sample',
      '1',
      '-q',
    )
    expect(otherForm).toMatchObject({ code: 3, stdout: expect.stringMatching(/diverged at turn 1, message 1/) })
    const readable = join(scratch, 'readable')
    await otAgent('traces', 'export', '-p', join(jobs, 'job'), '--out', readable, '--form', 'readable')
    const refused = await otAgent('traces', 'replay', readable, '--tasks', tasks)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/the readable form[\s\S]*--form exact/) })
  })

  test('replays a dataset that was moved and whose job is gone, with its tasks only: rows of several agents find their options', async () => {
    const home = mkdtempSync(join(tmpdir(), 'ot-agent-moved-'))
    await record('json', tasks, { into: join(home, 'jobs') })
    await record('xml', tasks, {
      into: join(home, 'jobs'),
      more: ['--ak', 'parser_name=xml', '--ak', 'model_info={"max_input_tokens": 40000}'],
    })
    const exported = await otAgent(
      'traces',
      'export',
      '-p',
      join(home, 'jobs'),
      '--out',
      join(home, 'first'),
      '--recursive',
    )
    expect(exported.code, exported.stderr).toBe(0)
    rmSync(join(home, 'jobs'), { recursive: true })
    renameSync(join(home, 'first'), join(home, 'moved'))
    const { runs } = JSON.parse(readFileSync(join(home, 'moved/manifest.json'), 'utf8'))
    expect(runs).toMatchObject([
      {
        jobs: ['json'],
        agent: { name: 'terminus-2', version: expect.stringMatching(/\d/) },
        sandbox: { type: 'local' },
      },
      { jobs: ['xml'], agent: { kwargs: { parser_name: 'xml' } }, promptsDigest: expect.stringMatching(/\w{16}/) },
    ])
    expect(JSON.stringify(runs)).not.toContain(scratch)
    const held = await otAgent('traces', 'replay', join(home, 'moved'), '--tasks', tasks, '-q')
    expect([held.code, held.stdout]).toEqual([0, '2 of 2 rows hold\n'])
    // The user's options override those of the manifest.
    const asked = await otAgent(
      'traces',
      'replay',
      join(home, 'moved'),
      '--tasks',
      tasks,
      '--ak',
      'parser_name=json',
      '-q',
    )
    expect(asked.stdout).toMatch(/^1 of 2 rows hold, 1 diverged$/m)
    rmSync(home, { recursive: true })
  })

  test('a manifest of others loads no code and reads no variable of this machine', async () => {
    const out = join(scratch, 'hostile')
    await otAgent('traces', 'export', '-p', join(jobs, 'job'), '--out', out)
    const file = join(out, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    const write = (agent: object) =>
      writeFileSync(file, JSON.stringify({ ...manifest, runs: [{ ...manifest.runs[0], agent }] }))
    const { agent } = manifest.runs[0]
    write({ ...agent, importPath: './data/evil.ts' })
    const custom = await otAgent('traces', 'replay', out, '--tasks', tasks, '-q')
    expect(custom).toMatchObject({ code: 3, stdout: expect.stringMatching(/its agent is the file .*evil\.ts/) })
    write({ ...agent, env: { TAKEN: `\${HOME}`, UNSET: `\${OT_AGENT_NEVER_SET}` } })
    expect((await otAgent('traces', 'replay', out, '--tasks', tasks, '-q')).stdout).toBe('1 of 1 rows hold\n')
    writeFileSync(file, '{"runs": 7}')
    expect((await otAgent('traces', 'replay', out, '--tasks', tasks, '-q')).stdout).toBe('1 of 1 rows hold\n')
  })

  test('shows where a row diverged, and nothing that a terminal would obey', async () => {
    await record('forged')
    const file = exchangesOf('forged')
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('Write 42', 'Write \\u001b]0;owned\\u0007 42'))
    const { code, stdout } = await otAgent('traces', 'replay', join(jobs, 'forged'), '-q')
    expect(code).toBe(3)
    expect(stdout).toMatch(/^forged\/answer__\S+: diverged at turn 1, message 1: the user message differs$/m)
    expect(stdout).toMatch(/^ {2}expected: .*Write \\x1b\]0;owned\\x07 42/m)
    expect(stdout).toMatch(/^ {2}received: .*Write 42/m)
    expect(stdout).toMatch(/^0 of 1 rows hold, 1 diverged$/m)
    expect(stdout).not.toContain('\u001b')
  })

  test('does not replay on another task, nor what was not recorded', async () => {
    const other = join(scratch, 'other')
    await writeTask(other, 'answer', { files: { 'README.md': 'changed' } })
    await record('moved', other)
    appendFileSync(join(other, 'answer/README.md'), ' again')
    const changed = await otAgent('traces', 'replay', join(jobs, 'moved'), '-q')
    expect(changed).toMatchObject({ code: 3, stdout: expect.stringMatching(/cannot be replayed: its task changed/) })
    rmSync(join(other, 'answer'), { recursive: true })
    const gone = await otAgent('traces', 'replay', join(jobs, 'moved'), '-q')
    expect(gone).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/cannot be replayed: its task no longer exists/),
    })
    rmSync(exchangesOf('moved'))
    const silent = await otAgent('traces', 'replay', join(jobs, 'moved'), '-q')
    expect(silent).toMatchObject({ code: 3, stdout: expect.stringMatching(/recorded no exchanges/) })
  })

  test('a recipe replays rows before it writes them, and tells what it found', async () => {
    const out = join(scratch, 'run')
    const ran = await otAgent('recipe', 'run', await recipe('steady', tasks, 5), '-o', out, '-q')
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout).toMatch(/^dataset: 1 of 1 replayed rows hold$/m)
    expect(readFileSync(join(out, 'out/dataset/README.md'), 'utf8')).toMatch(/## Replay\n\n.*1 of 1 hold/)
    expect(JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8')).outputs).toMatchObject([
      { replay: { rows: 1, holds: 1, trouble: null } },
    ])
    const { code, stdout } = await otAgent('traces', 'replay', join(out, 'out/dataset'), '-q')
    expect([code, stdout]).toEqual([0, '1 of 1 rows hold\n'])
    const moved = join(scratch, 'moved-dataset')
    cpSync(join(out, 'out/dataset'), moved, { recursive: true })
    expect(JSON.parse(readFileSync(join(moved, 'manifest.json'), 'utf8'))).toMatchObject({
      schema: 'recipe-dataset/1',
      runs: [{ agent: { name: 'terminus-2', kwargs: { parser_name: 'xml' } } }],
    })
    const away = await otAgent('traces', 'replay', moved, '--tasks', tasks, '-q')
    expect([away.code, away.stdout]).toEqual([0, '1 of 1 rows hold\n'])
  })

  test('a row that does not hold is a warning; where rows have to hold, nothing is written', async () => {
    const dice = join(scratch, 'dice')
    await writeTask(dice, 'dice', { solve: 'echo 42 > /answer; echo thrown $RANDOM$RANDOM' })
    const warned = join(scratch, 'warned')
    const ran = await otAgent('recipe', 'run', await recipe('warned', dice, 1), '-o', warned, '-q')
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/WARNING: dataset: 0 of 1 replayed rows hold: .*diverged/),
    })
    expect(readFileSync(join(warned, 'out/dataset/README.md'), 'utf8')).toMatch(
      /0 of 1 hold[\s\S]*One that does not: .*thrown/,
    )
    const required = join(scratch, 'required')
    const stopped = await otAgent('recipe', 'run', await recipe('required', dice, 'require'), '-o', required, '-q')
    expect(stopped).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/0 of 1 replayed rows hold.*nothing was written/),
    })
    expect(existsSync(join(required, 'out/dataset'))).toBe(false)
    const without = await otAgent('recipe', 'run', join(scratch, 'required.ts'), '-o', required, '--no-replay', '-q')
    expect(without.code, without.stderr).toBe(0)
    expect(readFileSync(join(required, 'out/dataset/README.md'), 'utf8')).toContain('No row was replayed')
  })

  test('refuses what is no dataset and no job', async () => {
    for (const path of [join(scratch, 'nothing'), tasks, resolve('package.json')])
      expect(await otAgent('traces', 'replay', path)).toMatchObject({ code: 2, stdout: '' })
    expect(await otAgent('traces', 'replay', join(jobs, 'job'), '--sample', '0')).toMatchObject({ code: 2 })
    expect(await otAgent('traces', 'replay', join(jobs, 'job'), '-e', 'nowhere')).toMatchObject({ code: 2 })
  })
})

/** Runs the only task of a folder with a stand-in that knows its solution. */
async function record(name: string, from = tasks, { into = jobs, more = [] as string[] } = {}): Promise<void> {
  const model = ['-a', 'terminus-2', '-m', 'scripted/x', '--engine', 'scripted', '--engine-kwarg', `tasks=${from}`]
  const ran = await otAgent(
    'run',
    '-p',
    from,
    ...model,
    '-e',
    'local',
    '-o',
    into,
    '--job-name',
    name,
    '--yes',
    '-q',
    ...more,
  )
  expect(ran.code, ran.stderr).toBe(0)
}

/** Tasks, their rollouts with a stand-in, and a dataset. */
async function recipe(name: string, path: string, replay: number | 'require'): Promise<string> {
  const teacher = { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } }
  const stages = [
    { id: 'tasks', use: 'sources/task-folder', with: { path } },
    {
      id: 'rollout',
      use: 'rollouts/agent',
      with: { teacher, agent: { name: 'terminus-2', options: { parser_name: 'xml' } }, sandbox: 'local' },
    },
    { id: 'dataset', use: 'exporters/sharegpt', with: { validation: 0, replay } },
  ]
  const file = join(scratch, `${name}.ts`)
  writeFileSync(file, `export default ${JSON.stringify({ name, seed: 1, stages })}\n`)
  return file
}

function exchangesOf(job: string): string {
  const trial = readdirSync(join(jobs, job)).find((entry) => entry.startsWith('answer__')) ?? ''
  return join(jobs, job, trial, 'agent/exchanges.jsonl')
}

async function otAgent(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, ['bin/ot-agent.js', ...argv], { env })) }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}
