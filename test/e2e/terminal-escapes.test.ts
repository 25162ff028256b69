import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shellQuote } from '../../src/lib/shell.ts'
import { fails, type ModelServer, says, startModelServer } from '../fakes/model-server.ts'
import { writeTask } from '../fakes/tasks.ts'
import { needs } from '../needs.ts'
import { scratch, withSandboxes } from './kit.ts'

/**
 * A title, a cleared screen, a one-byte color code, reversed text, a delete character. `OWNED` proves that the text got
 * into the output.
 */
const evil = '\x1b]0;OWNED\x07\x1b[2J\x9b31m\u202e\x7f'
const quoted = (text: string) =>
  `"${[...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
const printed = `printf '\\033]0;OWNED\\007\\033[2J\\302\\23331m\\342\\200\\256\\177'`

/** What the table itself sends to redraw, and a terminal's line endings. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const ourMoves = /\x1b\[\d+A|\r\x1b\[J|\r(?=\n)/g

const tasks = join(scratch, 'tasks')
const jobs = join(scratch, 'jobs')
const agent = join(scratch, 'agent.mjs')
let server: ModelServer

beforeAll(async () => {
  server = await startModelServer()
  server.plan(says(`${evil} done`))
  const toml = `schema_version = "1.2"\n[metadata]\nauthor_name = ${quoted(evil)}\ncategory = ${quoted(evil)}\n[environment]\nallow_internet = false\n`
  const files = { 'instruction.md': `Write 42 to /answer. ${evil}\n` }
  const test = `${printed}; ${printed} >&2; echo 0 > /logs/verifier/reward.txt; exit 1`
  await writeTask(tasks, `good-${evil}`, { toml, files, solve: `${printed}; exit 3`, test })
  const dockerfile = `FROM debian:12-slim\nRUN ${printed} >&2; ${printed}; exit 1\n`
  await writeTask(tasks, 'broken', { toml, files: { ...files, 'environment/Dockerfile': dockerfile } })
  writeFileSync(
    agent,
    `export default class Evil {
  name = 'evil'
  version = ${JSON.stringify(evil)}
  needsModel = true
  async solve({ instruction, client, sandbox, signal, record }) {
    console.log(instruction)
    process.stdout.write(Buffer.from(${JSON.stringify(evil)}))
    process.stderr.write(Buffer.from(${JSON.stringify(evil)}).toString('hex'), 'hex')
    const { reply } = await client.complete({ messages: [{ role: 'user', content: instruction }] }, { signal })
    const { stdout } = await sandbox.exec(['sh', '-c', ${JSON.stringify(printed)}])
    await client.complete({ messages: [{ role: 'user', content: instruction }, { role: 'assistant', content: reply.text }, { role: 'user', content: stdout }] }, { signal })
    setTimeout(() => { throw new Error(${JSON.stringify(evil)}) }, 0)
    await new Promise((later) => setTimeout(later, 50))
    throw new Error(${JSON.stringify(evil)})
  }
}\n`,
  )
})
afterAll(() => server.close())

const model = () => ['-m', 'm', '--api-base', `${server.origin}/v1`]
const run = (name: string) => [
  'run',
  '-p',
  tasks,
  '--agent-import-path',
  agent,
  ...model(),
  '-o',
  jobs,
  '--job-name',
  name,
]

withSandboxes('text of tasks, agents and models', () => {
  /** The job that most tests use, made once; its directory is then given a hostile name. */
  const job = join(jobs, `a-job-${evil}`)
  const trial = () => readdirSync(job).find((name) => name.startsWith('good-')) ?? ''

  let ran: Printed
  beforeAll(async () => {
    ran = await ot(run('plain'))
    renameSync(join(jobs, 'plain'), job)
  })

  test('does not reach the terminal as it is while a job runs', () => expectHarmless(ran.bytes))

  test.skipIf(needs('script').skip)('is escaped in the table that redraws itself on a terminal', async () => {
    const { bytes } = await onTerminal(run('on-a-terminal'))
    expect(bytes).toContain('\x1b[J')
    expectHarmless(bytes.replaceAll(ourMoves, ''))
  })

  test.each<[string, () => string[]]>([
    ['jobs list', () => ['jobs', 'list', '-o', jobs]],
    ['jobs show', () => ['jobs', 'show', job]],
    ['jobs show --trial', () => ['jobs', 'show', job, '--trial', trial()]],
    ['traces show', () => ['traces', 'show', join(job, trial())]],
    ['traces show --full', () => ['traces', 'show', join(job, trial()), '--full']],
    ['traces stats', () => ['traces', 'stats', '-p', job]],
    ['traces export', () => ['traces', 'export', '-p', job, '--out', join(scratch, `out-${evil}`)]],
    ['eval report', () => ['eval', 'report', job]],
    ['run --plan', () => [...run('planned'), '--plan']],
    ['tasks check', () => ['tasks', 'check', tasks]],
    ['tasks pack', () => ['tasks', 'pack', tasks, '--out', join(scratch, `packed-${evil}.parquet`)]],
    ['agents test', () => ['agents', 'test', agent, ...model(), '--task', join(tasks, `good-${evil}`)]],
  ])('%s shows it escaped', async (_, line) => {
    expectHarmless((await ot(line())).bytes)
  })

  test.skipIf(needs('script').skip)('a terminal gets it escaped from commands that show much of it', async () => {
    for (const line of [
      ['jobs', 'show', job, '--trial', trial()],
      ['traces', 'show', join(job, trial())],
    ])
      expectHarmless((await onTerminal(line)).bytes.replaceAll(/\r(?=\n)/g, ''))
  })

  test.each<[string, () => string[]]>([
    ['jobs list', () => ['jobs', 'list', '-o', jobs, '--json']],
    ['jobs show', () => ['jobs', 'show', job, '--json']],
    ['traces stats', () => ['traces', 'stats', '-p', job, '--json']],
    ['eval report', () => ['eval', 'report', job, '--json']],
  ])('%s --json is harmless too, and parses to the text as it was', async (_, line) => {
    const { stdout, bytes } = await ot(line())
    expectHarmless(bytes)
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(evil).slice(1, -1))
  })
})

describe('text of servers and programs', () => {
  test('errors of a model server are escaped', async () => {
    const refusing = await startModelServer()
    refusing.plan(fails(400, evil))
    refusing.planList(fails(500, evil))
    const { bytes } = await ot(['serve', '--check', '--api-base', `${refusing.origin}/v1`, '-m', 'm'])
    await refusing.close()
    expectHarmless(bytes)
  })

  test('what a model server prints that we started is escaped, on a terminal too', async () => {
    const bin = join(scratch, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'vllm'), `#!/bin/sh\n${printed}; ${printed} >&2; exit 7\n`)
    chmodSync(join(bin, 'vllm'), 0o755)
    const config = join(scratch, 'engine.yaml')
    writeFileSync(
      config,
      'engine: {type: vllm_local, model: m, vllm_local: {base_url: http://localhost:8000/v1, model_name: m}}\nbackend: {type: vllm}\nvllm_server: {model_path: m}\n',
    )
    const env = { PATH: `${bin}:${process.env.PATH}` }
    for (const way of [ot, ...(needs('script').skip ? [] : [onTerminal])]) {
      const { bytes } = await way(['serve', '--config', config], env)
      expectHarmless(bytes.replaceAll(/\r(?=\n)/g, ''))
      expect(bytes).toContain('vllm ended with exit code 7')
    }
  })

  test('what jobs of a launch print is escaped in launch logs', async () => {
    const dir = join(scratch, 'launch')
    const words = ['--job-type', 'datagen', '--datagen-script', 'data/nl2bash/generate.ts', '--experiments-dir', dir]
    const target = ['--datagen-target-repo', `file:${join(scratch, 'target')}`]
    const extra = ['--datagen-extra-args', '--limit 1 --no-check --input-dir x --no-such-option']
    const { stdout } = await ot(['launch', '--cluster', 'local', ...words, ...target, ...extra])
    const id = stdout.trim()
    await ot(['launch', 'watch', id, '--experiments-dir', dir, '--every', '1'])
    const [log = ''] = readdirSync(join(dir, 'logs'))
    writeFileSync(join(dir, 'logs', log), evil)
    expectHarmless((await ot(['launch', 'logs', id, '--experiments-dir', dir])).bytes)
  })

  test('cells and errors of a recipe are escaped', async () => {
    writeFileSync(join(scratch, 'rows.jsonl'), `${JSON.stringify({ id: evil, text: evil })}\n{"id": ${evil}\n`)
    const stages = [{ id: 'rows', use: 'sources/file', with: { path: join(scratch, 'rows.jsonl'), [evil]: 1 } }]
    const file = join(scratch, 'recipe.ts')
    writeFileSync(file, `export default ${JSON.stringify({ name: 'evil', seed: 1, stages })}\n`)
    expectHarmless((await ot(['recipe', 'run', file, '-o', join(scratch, `recipe-${evil}`)])).bytes)
  })

  test('an error that nothing catches is escaped', async () => {
    const file = join(scratch, 'late.mjs')
    writeFileSync(file, `throw new Error(${JSON.stringify(evil)})\n`)
    expectHarmless((await ot(['agents', 'test', file])).bytes)
    writeFileSync(
      file,
      `setTimeout(() => { throw new Error(${JSON.stringify(evil)}) }, 0)\nawait new Promise((later) => setTimeout(later, 100))\nexport default class {}\n`,
    )
    const { bytes, code } = await ot(['agents', 'test', file])
    expectHarmless(bytes)
    expect(code).not.toBe(0)
  })

  test.skipIf(needs('script').skip)(
    'a question at a terminal is answered in a line that the terminal edits',
    async () => {
      const curious = join(scratch, 'curious')
      await writeTask(curious, 'one', { toml: `[environment.env]\nA = "\${MY_SECRET:-none}"\n` })
      const line = ['run', '-p', curious, '-o', join(scratch, `asked-${evil}`)]
      for (const [typed, says] of [
        ['n\n', /expected confirmation to pass environment variables to tasks/],
        ['\x03', /cancelled/],
        ['\x04', /cancelled/],
      ] as const) {
        const { bytes, code } = await onTerminal(line, { MY_SECRET: 'x' }, typed)
        expect(bytes).toMatch(says)
        expect(bytes).not.toContain('\x1b')
        expect(code).toBe(typed === 'n\n' ? 2 : 130)
      }
    },
  )

  test('so are words of the command line', async () => {
    expectHarmless((await ot([evil])).bytes)
    expectHarmless((await ot(['jobs', 'show', evil])).bytes)
  })
})

test('no program that we start gets our terminal as its output', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  )
  expect(sources.length).toBeGreaterThan(100)
  const direct =
    /stdio: *(\[[^\]]*(?<![\w'])[012](?![\w'])|\[?[^\]\n]*'inherit')|(createWriteStream|writeSync)\([^)]*(fd: *[12]\b|\(\s*[12],)/
  expect(sources.filter((name) => direct.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})

/** Checks that the planted text is there, without anything a terminal would obey. */
function expectHarmless(bytes: string): void {
  expect(bytes).toContain('OWNED')
  const obeyed = [...bytes.matchAll(/[^\n\t\P{Cc}]|\p{Cf}/gu)].map(({ 0: sign, index }) => [
    sign.codePointAt(0)?.toString(16),
    JSON.stringify(bytes.slice(Math.max(0, index - 60), index + 20)),
  ])
  expect(obeyed).toEqual([])
}

interface Printed {
  readonly code: number | null
  readonly stdout: string
  /** Stdout and stderr as one text. */
  readonly bytes: string
}

const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache'), HOME: scratch, COLUMNS: '200' }

function ot(argv: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Printed> {
  return output(process.execPath, [resolve('bin/ot-agent.js'), ...argv], more)
}

/** The same on a pseudo-terminal. */
function onTerminal(argv: readonly string[], more: NodeJS.ProcessEnv = {}, typed = ''): Promise<Printed> {
  const line = [process.execPath, resolve('bin/ot-agent.js'), ...argv].map(shellQuote).join(' ')
  return output('script', ['-qec', line, '/dev/null'], { ...more, SHELL: '/bin/bash' }, typed)
}

async function output(program: string, args: readonly string[], more: NodeJS.ProcessEnv, typed = ''): Promise<Printed> {
  const child = spawn(program, args, { env: { ...env, ...more }, stdio: 'pipe' })
  if (typed === '') child.stdin.end()
  const [all, out]: Buffer[][] = [[], []]
  child.stdout.on('data', (chunk: Buffer) => {
    all?.push(chunk)
    out?.push(chunk)
  })
  child.stdout.on('data', (chunk: Buffer) => {
    if (typed !== '' && chunk.includes('[y/N]')) child.stdin.write(typed)
  })
  child.stderr.on('data', (chunk: Buffer) => void all?.push(chunk))
  const [code] = await once(child, 'close')
  return { code, stdout: Buffer.concat(out ?? []).toString(), bytes: Buffer.concat(all ?? []).toString() }
}
