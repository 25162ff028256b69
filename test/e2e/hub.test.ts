import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { lfsFile } from '../fakes/hub/repo.ts'
import { HubStandIn } from '../fakes/hub/server.ts'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const nl2bash = 'data/nl2bash/generate.ts'
let hub: HubStandIn
beforeAll(async () => {
  hub = await HubStandIn.start()
})
afterAll(() => hub.close())

function start(args: readonly string[], more: Record<string, string> = {}) {
  return spawn(process.execPath, [bin, ...args], { env: { ...ownEnv(), ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
}

function ownEnv() {
  return { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache'), ...hub.env }
}

/** Runs a command in a terminal and types a person's answer to its question. */
async function atTerminal(args: readonly string[], typed: string) {
  const { spawn: open } = createRequire(import.meta.url)('@lydell/node-pty') as typeof import('@lydell/node-pty')
  const pty = open(process.execPath, [bin, ...args], { cols: 200, rows: 24, env: { ...ownEnv(), TERM: 'xterm' } })
  let shown = ''
  let isAsked = false
  pty.onData((chunk) => {
    shown += chunk
    if (isAsked || !shown.includes('[y/N]')) return
    isAsked = true
    pty.write(typed)
  })
  const { exitCode } = await new Promise<{ exitCode: number }>((done) => pty.onExit(done))
  return { exitCode, shown }
}

/** Not the synchronous kind: the stand-in answers from this very process. The output must not contain the token. */
async function run(args: readonly string[], more: Record<string, string> = {}) {
  const child = start(args, more)
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect(stdout + stderr).not.toContain(hub.token)
  return { status, stdout, stderr }
}

async function digestsIn(dir: string): Promise<Record<string, string>> {
  const names = readdirSync(dir).filter((name) => !name.startsWith('.'))
  const digests = names.map(async (name) => [name, (await loadTask(join(dir, name))).digests.content] as const)
  return Object.fromEntries(await Promise.all(digests))
}

function table(columns: Record<string, string[]>): Buffer {
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data, type: 'STRING' as const }))
  return Buffer.from(parquetWriteBuffer({ columnData }))
}

function filesBelow(dir: string): string[] {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true })
  return names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

test('what generate publishes comes back as the same tasks', async () => {
  const out = join(scratch, 'made')
  const made = await run([
    'generate',
    nl2bash,
    '--limit',
    '2',
    '--no-check',
    '--output-dir',
    out,
    '--target-repo',
    'me/tasks',
  ])
  expect(made.status, made.stderr).toBe(0)
  expect(made.stdout).toContain('published: me/tasks')
  const repo = hub.repo('me/tasks')
  expect(repo.isPrivate).toBe(true)
  const files = repo.commit('main')?.files
  expect([...(files?.keys() ?? [])].sort()).toEqual(['.gitattributes', 'README.md', 'tasks.parquet'])
  expect(files?.get('README.md')?.data.toString()).toMatch(
    /2 tasks for agents[\s\S]*pipeline nl2bash, strategy row-template, seed 42 \(2\)/,
  )
  const back = join(scratch, 'back')
  const got = await run(['hub', 'download', 'me/tasks', '--tasks', '--out', back, '--json'])
  expect(got.status, got.stderr).toBe(0)
  expect(await digestsIn(back)).toEqual(await digestsIn(join(out, 'tasks')))
  const small = await run(['hub', 'download', 'me/tasks', '--max-file-mb', '0.002', '--dry-run', '--json'])
  expect(JSON.parse(small.stdout).files).toEqual(['.gitattributes', 'README.md'])
  const again = await run(['hub', 'upload', join(out, 'tasks'), 'me/tasks', '--json'])
  expect(JSON.parse(again.stdout)).toMatchObject({ commit: null, added: [], rows: 2 })
  for (const file of filesBelow(out)) expect(readFileSync(file, 'latin1'), file).not.toContain(hub.token)
})

test('--no-upload publishes nothing, and a dry run does nothing', async () => {
  const out = join(scratch, 'kept')
  const words = ['generate', nl2bash, '--limit', '1', '--no-check', '--output-dir', out, '--target-repo', 'me/kept']
  const planned = await run([...words, '--dry-run'])
  expect(planned.stdout).toMatch(/would make at most 1 tasks[\s\S]*would publish to me\/kept/)
  expect((await run([...words, '--no-upload'])).status).toBe(0)
  const dry = await run(['hub', 'upload', join(out, 'tasks'), 'me/kept', '--dry-run'])
  expect(dry.stdout).toContain('would add tasks.parquet')
  expect(hub.repos.has('me/kept')).toBe(false)
  const refused = await run(words, { HF_TOKEN: 'hf_wrong' })
  expect(refused.status).toBe(2)
  expect(refused.stderr).toContain('does not accept the token')
})

test('a dry run works offline, and a token that hf auth login stored is used and never shown', async () => {
  const dir = join(scratch, 'small')
  mkdirSync(dir)
  writeFileSync(join(dir, 'rows.jsonl'), '{"a":1}\n')
  const upload = ['hub', 'upload', dir, 'me/stored', '--json']
  for (const env of [{ HF_ENDPOINT: 'http://127.0.0.1:9' }, { HF_HUB_OFFLINE: '1' }]) {
    const dry = await run([...upload, '--dry-run'], env)
    expect(dry.status, dry.stderr).toBe(0)
    expect(JSON.parse(dry.stdout)).toMatchObject({ compared: false, added: ['rows.jsonl', 'README.md'], commit: null })
  }
  const home = join(scratch, 'hf')
  mkdirSync(home)
  writeFileSync(join(home, 'token'), `${hub.token}\n`)
  const done = await run(upload, { HF_TOKEN: '', HF_HOME: home })
  expect(done.status, done.stderr).toBe(0)
  expect(JSON.parse(done.stdout)).toMatchObject({ compared: true, commit: expect.any(String) })
})

test('a killed upload resumes and sends nothing twice', async () => {
  const dir = join(scratch, 'large')
  mkdirSync(dir)
  for (const word of ['a', 'b', 'c']) writeFileSync(join(dir, `${word}.parquet`), table({ word: [word] }))
  hub.sent.length = 0
  hub.faults.add({ when: /PUT \/storage\/me\/large/, times: 1, what: { delayMs: 600_000 } })
  const words = ['hub', 'upload', dir, 'me/large', '--public', '--json']
  const child = start(words)
  while (hub.sent.length < 2 && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20))
  expect(hub.sent.length).toBe(2)
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(hub.repo('me/large').commit('main')?.files.has('a.parquet')).toBe(false)
  const { status, stdout, stderr } = await run(words)
  expect(status, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ added: ['a.parquet', 'b.parquet', 'c.parquet', 'README.md'], rows: 3 })
  expect(hub.sent.length).toBe(3)
  expect(new Set(hub.sent).size).toBe(3)
  expect(hub.repo('me/large').isPrivate).toBe(false)
})

test('the real sources of pipelines are datasets of the Hub', async () => {
  const put = (name: string, path: string, data: Buffer) => {
    const repo = hub.repo(name)
    const files = new Map(repo.commit('main')?.files ?? [])
    repo.add('main', path, files.set(path, lfsFile(data, createHash('sha256').update(data).digest('hex'))))
  }
  put(
    'westenfelder/NL2SH-ALFA',
    'train/0000.parquet',
    table({ nl: ['Count the lines of words.txt.'], bash: ['wc -l words.txt'] }),
  )
  hub
    .repo('westenfelder/NL2SH-ALFA')
    .put('README.md', '---\nconfigs:\n- config_name: train\n  data_files: train/*\n---\n')
  put(
    'openai/gsm8k',
    'main/train-00000-of-00001.parquet',
    table({ question: ['What is 6 times 7?'], answer: ['6*7=42\n#### 42'] }),
  )
  for (const name of ['nl2bash', 'instruct-rows']) {
    const out = join(scratch, `real-${name}`)
    const words = [
      'generate',
      `data/${name}/generate.ts`,
      '--source',
      'real',
      '--no-check',
      '--output-dir',
      out,
      '--json',
    ]
    const { status, stdout, stderr } = await run(words)
    expect(status, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ source: { kind: 'real' }, tasks: { metadata: { rows: 1, tasks: 1 } } })
  }
})

withSandboxes('ot-agent generate --from-parquet', () => {
  test('runs agents over packed tasks, and publishes their traces', async () => {
    const made = join(scratch, 'packed-made')
    const words = [
      'generate',
      nl2bash,
      '--limit',
      '2',
      '--no-check',
      '--output-dir',
      made,
      '--target-repo',
      'me/packed',
    ]
    expect((await run(words)).status).toBe(0)
    const out = join(scratch, 'traced')
    const extracted = join(out, 'tasks_extracted')
    const ask = [
      ...['generate', '--from-parquet', '--tasks-repo', 'me/packed', '--parquet-name', 'tasks.parquet', '--limit', '1'],
      ...[
        '-m',
        'scripted/solver',
        '--engine-kwarg',
        `tasks=${extracted}`,
        '--output-dir',
        out,
        '--target-repo',
        'me/traces',
      ],
    ]
    const planned = await run([...ask, '--dry_run', '--json'])
    expect(JSON.parse(planned.stdout)).toMatchObject({ packed: { repository: 'me/packed', files: ['tasks.parquet'] } })
    expect(hub.repos.has('me/traces')).toBe(false)
    const done = await run([...ask, '--json'])
    expect(done.status, done.stderr).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject({
      traces: { uploadedRepo: 'me/traces', metadata: { trials: 1, meanReward: 1 } },
    })
    expect(await digestsIn(extracted)).toEqual(await digestsIn(join(made, 'tasks')))
    const files = [...(hub.repo('me/traces').commit('main')?.files.keys() ?? [])]
    expect(files).toContain('data/train-00000-of-00001.parquet')
    const other = await run([...ask, '--tasks-revision', 'main'])
    expect(other.status).toBe(2)
    expect(other.stderr).toContain('--overwrite')
    const checked = await run(['tasks', 'check', extracted, '--repeats', '1', '--json'])
    expect(checked.status, checked.stderr).toBe(0)
  })

  test('takes a file of this machine', async () => {
    const made = join(scratch, 'local-made')
    await run(['generate', nl2bash, '--limit', '1', '--no-check', '--output-dir', made])
    const file = join(scratch, 'local.parquet')
    await run(['tasks', 'pack', join(made, 'tasks'), '--out', file])
    const out = join(scratch, 'local-traced')
    const ask = [
      'generate',
      `--from-parquet=file:${file}`,
      '--trace-agent-name',
      'oracle',
      '--trace-eval-only',
      '--output-dir',
      out,
    ]
    const { status, stdout, stderr } = await run([...ask, '--json'])
    expect(status, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ traces: { metadata: { trials: 1, meanReward: 1 } } })
    const lacking = await run(['generate', '--from-parquet', '--output-dir', out])
    expect(lacking.stderr).toContain('expected a parquet file or --tasks-repo, got neither')
  })
})

test('squash asks at a terminal, and only a yes removes the history', async () => {
  const repo = hub.repo('org/asked')
  repo.put('a.txt', 'a')
  for (const [typed, says, code] of [
    ['n\r', 'expected confirmation to remove history, got none', 2],
    ['\r', 'expected confirmation to remove history, got none', 2],
    ['\x03', 'cancelled', 130],
    ['\x04', 'cancelled', 130],
  ] as const) {
    const { exitCode, shown } = await atTerminal(['hub', 'squash', 'org/asked'], typed)
    expect(shown).toContain('org/asked (main): 2 commits become one; older revisions are lost for good')
    expect(shown).toContain(says)
    expect(exitCode).toBe(code)
    expect(repo.history('main')).toHaveLength(2)
  }
  const { exitCode, shown } = await atTerminal(['hub', 'squash', 'org/asked'], 'y\r')
  expect(shown).toContain('squashed 2 commits of org/asked (main)')
  expect(exitCode).toBe(0)
  expect(repo.history('main')).toHaveLength(1)
})
