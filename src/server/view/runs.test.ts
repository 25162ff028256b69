import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeViewJobs } from '../../../test/view-kit.ts'
import { parseRunWords } from '../../app/flags/run-words.ts'
import { Library } from '../../app/view/library.ts'
import { newRunWords } from '../../app/view/new-run-words.ts'
import { StartedRuns } from '../../app/view/started-runs.ts'
import { type NewRun, newRunSchema, type StartedRun } from '../../core/new-run.ts'
import { programName } from '../../lib/program-name.ts'
import { serveView, type ViewServer } from './serve-view.ts'

/** Prints its arguments, and exits when signalled. */
const program = `
process.on('SIGINT', () => { console.log('stopping'); process.exit(130) })
console.log(JSON.stringify(process.argv.slice(2)))
setTimeout(() => {}, 60000)
`

let scratch: string
let dir: string
let library: Library
let runs: StartedRuns
let server: ViewServer
let readOnly: ViewServer
const pids: number[] = []

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'ot-agent-runs-'))
  dir = await makeViewJobs(join(scratch, 'jobs'))
  const assetsDir = join(scratch, 'assets')
  await mkdir(assetsDir)
  await writeFile(join(assetsDir, 'index.html'), '<!doctype html>')
  await writeFile(join(scratch, 'program.mjs'), program)
  ;({ library } = await Library.open([dir]))
  runs = new StartedRuns({
    jobsDirs: library.jobsDirs,
    logsDir: join(scratch, 'logs'),
    program: [process.execPath, join(scratch, 'program.mjs')],
  })
  const settings = { host: '127.0.0.1', port: 0, token: null, assetsDir }
  server = await serveView(library, { ...settings, writer: { key: 'the-key', runs } })
  readOnly = await serveView(library, settings)
})

afterAll(async () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended.
    }
  }
  await server.close()
  await readOnly.close()
  await library.close()
  await rm(scratch, { recursive: true, force: true })
})

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly of?: ViewServer
}

function ask(path: string, { method = 'POST', headers = {}, body = {}, of = server }: Asked = {}) {
  const { hostname, port, host } = new URL(of.origin)
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const usual = { 'x-ot-agent-key': 'the-key', origin: `http://${host}`, 'content-type': 'application/json' }
  const length = method === 'POST' ? { 'content-length': String(Buffer.byteLength(text)) } : {}
  const all = Object.entries({ ...usual, ...length, ...headers })
  const given = Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  return new Promise<{ status: number; json: any }>((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers: given }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          json: JSON.parse(Buffer.concat(chunks).toString('utf8') || 'null'),
        }),
      )
    })
    sent.on('error', reject).end(method === 'POST' ? text : undefined)
  })
}

const list = async (): Promise<StartedRun[]> => (await ask('/api/runs', { method: 'GET' })).json.runs
const aRun = (name: string) => ({ kind: 'run', jobsDir: dir, jobName: name, tasks: 'examples/tasks' })

describe('who may start runs', () => {
  const host = 'evil.example'
  test.each([
    ['without a key', { 'x-ot-agent-key': undefined }, 403],
    ['with a wrong key', { 'x-ot-agent-key': 'the-kez' }, 403],
    ['with the key in a cookie only', { 'x-ot-agent-key': undefined, cookie: 'ot-agent-key=the-key' }, 403],
    ['from another site', { origin: 'https://evil.example' }, 403],
    ['from another port of this machine', { origin: 'http://127.0.0.1:1' }, 403],
    ['from a page without an origin', { origin: 'null' }, 403],
    ['without an origin', { origin: undefined }, 403],
    ['under another name', { host, origin: `http://${host}` }, 403],
    ['by a form of the same site', { 'sec-fetch-site': 'same-site' }, 403],
    ['by a form of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['as a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['as text', { 'content-type': 'text/plain' }, 415],
    ['as JSON in another character set', { 'content-type': 'application/json; charset=utf-16' }, 415],
  ])('a request %s is refused', async (_, headers, status) => {
    for (const path of ['/api/runs', '/api/runs/preview', '/api/runs/x/stop'])
      expect([path, (await ask(path, { headers, body: aRun('no') })).status]).toEqual([path, status])
    expect(await list()).toEqual([])
  })

  test('a server without permission starts nothing, and says so', async () => {
    const of = readOnly
    for (const path of ['/api/runs', '/api/runs/preview', '/api/runs/x/stop'])
      expect((await ask(path, { of, body: aRun('no') })).status).toBe(405)
    expect((await ask('/api/runs', { of, method: 'GET' })).status).toBe(403)
    const sections = async (each: ViewServer) => (await ask('/api/sections', { of: each, method: 'GET' })).json.runs
    expect([await sections(readOnly), await sections(server)]).toEqual([false, true])
  })

  test('what was started is shown to readers with the key only', async () => {
    const headers = { 'x-ot-agent-key': undefined }
    for (const path of ['/api/runs', '/api/runs/form', '/api/runs/from/hostile'])
      expect((await ask(path, { method: 'GET', headers })).status).toBe(403)
  })

  test('no other address takes a POST, and no other method is taken', async () => {
    expect((await ask('/api/jobs')).status).toBe(404)
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await ask('/api/runs', { method })).status).toBe(405)
  })

  test('a body that is large, of unknown length or no JSON is refused', async () => {
    expect((await ask('/api/runs', { body: { kind: 'x'.repeat(70_000) } })).status).toBe(413)
    const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
    expect((await ask('/api/runs', { headers, body: aRun('no') })).status).toBe(413)
    expect((await ask('/api/runs', { body: '{' })).status).toBe(400)
  })
})

describe('what may be asked for', () => {
  test.each([
    ['an unknown field', { argv: ['--version'] }],
    ['a word that looks like an option', { tasks: '--yes' }],
    ['a list with a word that looks like an option', { include: ['ok', '-y'] }],
    ['a control character', { tasks: 'a\u0000b' }],
    ['a name that leads elsewhere', { jobName: '../other' }],
    ['a name of dots', { jobName: '..' }],
    ['a number as text', { attempts: '3' }],
    ['no attempt', { attempts: 0 }],
    ['an option without a value', { agentOptions: ['temperature'] }],
    ['a long text', { tasks: 'x'.repeat(3000) }],
    ['many texts', { include: Array.from({ length: 51 }, () => 'x') }],
    ['another kind', { kind: 'clean' }],
    ['another directory of jobs', { jobsDir: tmpdir() }],
  ])('%s is refused', async (_, change) => {
    const { status, json } = await ask('/api/runs', { body: { ...aRun('no'), ...change } })
    expect([status, typeof json.error]).toEqual([422, 'string'])
    expect(await list()).toEqual([])
  })

  test('a draft is shown as a line for a shell, or with what is wrong', async () => {
    const body = { ...aRun('it is'), agentOptions: ['a="$(x)"'] }
    const { json } = await ask('/api/runs/preview', { body })
    expect(json.command).toBe(`${programName()} run -p examples/tasks --ak 'a="$(x)"' -o ${dir} --job-name 'it is'`)
    const wrong = await ask('/api/runs/preview', { body: { ...body, attempts: 'three' } })
    expect(wrong.json).toMatchObject({ command: null, problems: [{ field: 'attempts' }] })
    expect(await list()).toEqual([])
  })

  test('every field of a run is an option of the command', async () => {
    const run: NewRun = newRunSchema.parse({
      ...aRun('all'),
      ...{ dataset: undefined, fetch: true, include: ['a*', 'b'], limit: 3, agent: 'terminus-2' },
      ...{ agentOptions: ['temperature=0.5', 'x=[1]'], models: ['m1', 'm2'], apiBase: 'http://localhost:1/v1' },
      ...{ apiKeyEnv: 'MY_KEY', engine: 'scripted', engineOptions: ['tasks=t'], sandbox: 'docker' },
      ...{ sandboxOptions: ['a=b'], attempts: 2, concurrency: 5, maxRetries: 1, budgetUsd: 1.5, passEnv: ['HOME'] },
    })
    expect(await parseRunWords(newRunWords(run).slice(1))).toMatchObject({
      ...{ tasks: 'examples/tasks', fetch: true, include: ['a*', 'b'], limit: 3, agent: 'terminus-2' },
      agentOptions: { temperature: 0.5, x: [1] },
      model: {
        ...{ names: ['m1', 'm2'], apiBase: 'http://localhost:1/v1', apiKeyEnv: 'MY_KEY', engine: 'scripted' },
        options: { tasks: 't' },
      },
      ...{ sandbox: 'docker', sandboxOptions: { a: 'b' }, attempts: 2, concurrency: 5, retry: { max: 1 } },
      ...{ budget: { costUsd: 1.5 }, passEnv: ['HOME'], jobsDir: dir, jobName: 'all' },
    })
  })

  test('an earlier job is a request that the server takes, without what was masked', async () => {
    const { json: form } = await ask('/api/runs/form', { method: 'GET' })
    expect(form).toMatchObject({ jobsDirs: [dir], dir: process.cwd() })
    expect(form.known.agents).toContain('oracle')
    for (const id of form.previous) {
      const { run } = (await ask(`/api/runs/from/${id}`, { method: 'GET' })).json
      const draft = { ...run, jobsDir: dir, jobName: 'again' }
      expect([id, (await ask('/api/runs/preview', { body: draft })).json.problems]).toEqual([id, []])
    }
    expect((await ask('/api/runs/from/no-such', { method: 'GET' })).status).toBe(404)
  })
})

describe('a started run', () => {
  const untilSays = (id: string, text: string) =>
    expect.poll(async () => (await list()).find((run) => run.id === id)?.says).toContain(text)

  test('gets its arguments unchanged, is listed with its output, and stops on request', async () => {
    const body = { ...aRun('one'), agentOptions: ['a=$(touch /tmp/x); `id`'] }
    const { id } = (await ask('/api/runs', { body })).json
    const [run] = await list()
    pids.push(run!.pid)
    expect(run).toMatchObject({ id, title: 'one', state: 'running', exit: null, job: null })
    await untilSays(id, '"--ak","a=$(touch /tmp/x); `id`"')
    expect((await ask('/api/runs', { body })).json.error).toContain('is already running')
    expect((await ask(`/api/runs/${id}/stop`)).status).toBe(200)
    await expect.poll(async () => (await list())[0]).toMatchObject({ state: 'ended', exit: 'exit code 130' })
    expect(await readFile(run!.log, 'utf8')).toContain('stopping')
    expect((await ask('/api/runs/no-such/stop')).status).toBe(404)
  })

  test('of a recipe is shown when it has ended well', async () => {
    const shown: string[] = []
    const onRecipe = async (dir: string) => void shown.push(dir)
    const settings = { jobsDirs: [], logsDir: join(scratch, 'logs'), onRecipe }
    for (const code of [1, 0]) {
      const started = new StartedRuns({ ...settings, program: [process.execPath, '-e', `process.exit(${code})`] })
      await started.start({ kind: 'recipe', file: 'a.yaml', out: `out-${code}` })
      await expect.poll(async () => (await started.list(new Map()))[0]?.exit).toBe(`exit code ${code}`)
    }
    expect(shown).toEqual([resolve('out-0')])
  })

  test('continues when the server closes', async () => {
    const again = await serveView(library, {
      ...{ host: '127.0.0.1', port: 0, token: null, assetsDir: scratch },
      writer: { key: 'the-key', runs },
    })
    const { id } = (await ask('/api/runs', { of: again, body: aRun('two') })).json
    const run = (await list()).find((each) => each.id === id)
    pids.push(run!.pid)
    await untilSays(id, '"two"')
    await again.close()
    // The run has its own process group, so Ctrl-C in the viewer's terminal does not reach it.
    const [, , , , group] = (await readFile(`/proc/${run!.pid}/stat`, 'utf8')).split(' ')
    expect(Number(group)).toBe(run!.pid)
    runs.stop(id)
    await untilSays(id, 'stopping')
  })
})
