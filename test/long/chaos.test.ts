import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { writeTask } from '../fakes/tasks.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-chaos-'))
const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
const started: ChildProcess[] = []

afterAll(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(scratch, { recursive: true, force: true })
})

/** How a trial ends: with a reward and the agent's stop reason, or blamed on the model with an error code. */
type Ending = { readonly reward: number; readonly stop: string } | { readonly code: string }

const solved: Ending = { reward: 1, stop: 'task-complete' }
const unread: Ending = { reward: 0, stop: 'parse-errors' }
const connection: Ending = { code: 'ApiConnectionError' }

/** What happens to a trial's second turn every time it is requested, and how such a trial must end. */
const troubles: readonly (readonly [kind: string, always: boolean, ending: Ending])[] = [
  ['drop', true, connection],
  ['cut', true, connection],
  ['not-json', true, connection],
  ['rate-limit', true, { code: 'RateLimitError' }],
  ['server-error', true, { code: 'InternalServerError' }],
  ['proxy-page', true, { code: 'InternalServerError' }],
  ['auth', true, { code: 'AuthenticationError' }],
  ['silence', true, { code: 'ApiTimeoutError' }],
  ['endless', true, { code: 'ApiTimeoutError' }],
  ['bad-utf8', true, unread],
  ['malformed', true, unread],
  ['missing-fields', true, unread],
  ['empty', true, { code: 'EmptyReplyError' }],
  ['truncated', true, { reward: 0, stop: 'output-length' }],
  ['refusal', true, { reward: 0, stop: 'content-filter' }],
  ['wrong-command', true, { reward: 0, stop: 'max-turns' }],
  ['context-exceeded', true, { reward: 0, stop: 'max-turns' }],
  ['huge', true, { reward: 0, stop: 'max-turns' }],
  ['fenced', true, solved],
  ['bad-utf8', false, solved],
]
const perTrouble = 2
/** Trials with only transient faults: one request in five fails in one of these ways, at most twice in a row. */
const weatherKinds = ['rate-limit', 'server-error', 'drop', 'cut', 'proxy-page', 'not-json']
const badTurns = ['malformed', 'missing-fields', 'wrong-command', 'truncated', 'refusal', 'bad-utf8']
const perRequest = 0.2 / (weatherKinds.length + badTurns.length)
const trials = 120
const contextTokens = 24_000

interface Planned {
  readonly name: string
  readonly ending: Ending
  readonly faults: readonly object[]
  /** Words before the instruction, to fill the context. */
  readonly padding?: number
}

function plan(): Planned[] {
  const named = troubles.flatMap(([kind, always, ending]) =>
    Array.from({ length: perTrouble }, (_, i): Planned => {
      const name = `${kind}-${always ? 'always' : 'once'}-${i}`
      return { name, ending, faults: [{ kind, match: `<${name}>`, turns: [2], times: always ? 'always' : 1 }] }
    }),
  )
  const full: Planned = { name: 'context-full', ending: { code: 'AgentError' }, faults: [], padding: 40_000 }
  const tight: Planned = { name: 'context-tight', ending: solved, faults: [], padding: 6000 }
  const rest = Array.from({ length: trials - named.length - 2 }, (_, i): Planned => {
    return { name: `weather-${i}`, ending: solved, faults: [] }
  })
  return [...named, full, tight, ...rest]
}

const weather = [...weatherKinds, ...badTurns].map((kind) => ({
  kind,
  match: '<weather-',
  probability: perRequest,
  times: weatherKinds.includes(kind) ? 2 : 1,
}))

describe.skipIf(missingPrograms().length > 0)('chaos (needs bubblewrap)', () => {
  test(`${trials} trials with faults of every kind end as their faults imply, and none is lost`, async () => {
    const planned = plan()
    const tasks = await writeTasks('tasks', planned)
    const faults = [...planned.flatMap((trial) => trial.faults), ...weather]
    const server = await serve(tasks, [`faults=${JSON.stringify(faults)}`, `context_tokens=${contextTokens}`])
    const ran = await run('chaos', tasks, server.baseUrl, ['-n', '8'])
    expect(ran.code, ran.stderr).toBe(3)
    const ended = endings('chaos')
    expect([...ended.keys()].sort()).toEqual(planned.map(({ name }) => name).sort())
    const wrong = planned.filter(({ name, ending }) => JSON.stringify(ended.get(name)) !== JSON.stringify(ending))
    expect(wrong.map(({ name, ending }) => ({ name, expected: ending, got: ended.get(name) }))).toEqual([])
    for (const [name, dir] of finished('chaos')) {
      // If the first prompt does not fit, no request is made.
      if (name === 'context-full') continue
      const { steps } = JSON.parse(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8'))
      expect(steps.length).toBeGreaterThan(0)
    }
    const full = resultIn(finished('chaos').get('context-full') ?? '')
    expect(full.exception_info.exception_message).toContain(`its context has only ${contextTokens}`)
    const tight = resultIn(finished('chaos').get('context-tight') ?? '')
    expect(tight.agent_result.metadata.summarization_count).toBeGreaterThan(0)
    const statuses = server.heard().matchAll(/chat\/completions (\d+) /g)
    expect(new Set([...statuses].map((match) => match[1]))).toEqual(new Set(['200', '400', '401', '429', '500', '502']))
    await stop(server.child)
    expectNothingLeft()
  })

  test('a server that dies takes no trial with it: each is blamed on the model, and runs again once it is back', async () => {
    const planned = Array.from({ length: 6 }, (_, i): Planned => ({ name: `task-${i}`, ending: solved, faults: [] }))
    const tasks = await writeTasks('outage-tasks', planned)
    const server = await serve(tasks, ['latency_ms=300'])
    const running = run('outage', tasks, server.baseUrl, ['-n', '6'])
    while (!server.heard().includes('chat/completions')) await wait(20)
    await stop(server.child, 'SIGKILL')
    expect((await running).code).toBe(3)
    expect([...endings('outage').values()]).toEqual(planned.map(() => connection))
    const back = await serve(tasks, [], new URL(server.baseUrl).port)
    const again = await ended(ot('jobs', 'retry', join(scratch, 'jobs/outage'), '--only', 'infra', '-q'))
    expect(again.code, again.stderr).toBe(0)
    expect([...endings('outage').values()]).toEqual(planned.map(() => solved))
    await stop(back.child)
    expectNothingLeft()
  })
})

async function writeTasks(folder: string, planned: readonly Planned[]): Promise<string> {
  const root = join(scratch, folder)
  for (const { name, padding = 0 } of planned) {
    const words = Array.from({ length: padding }, (_, i) => `word${i % 7}`).join(' ')
    await writeTask(root, name, {
      toml: 'schema_version = "1.2"\n[agent]\ntimeout_sec = 600\n',
      files: { 'instruction.md': `${words}\nWrite 42 to /answer. This is task <${name}>.\n` },
    })
  }
  return root
}

async function serve(tasks: string, options: readonly string[], port = '0') {
  const kwargs = options.flatMap((option) => ['--engine-kwarg', option])
  const child = ot('serve', '--engine', 'scripted', '--tasks', tasks, '--port', port, '--json', ...kwargs)
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  while (!/^}$/m.test(stdout)) {
    if (child.exitCode !== null) throw new Error(stderr)
    await wait(20)
  }
  const { baseUrl } = JSON.parse(stdout) as { baseUrl: string }
  return { child, baseUrl, heard: () => stderr }
}

async function run(name: string, tasks: string, baseUrl: string, more: readonly string[]) {
  const client = ['stream=true', 'min_wait_sec=0.01', 'max_wait_sec=0.2', 'request_timeout_sec=10', 'max_attempts=4']
  const kwargs = client.flatMap((option) => ['--engine-kwarg', option])
  const where = ['-m', 'scripted', '--api-base', baseUrl, '-o', join(scratch, 'jobs'), '--job-name', name, '-q']
  return ended(
    ot(
      'run',
      '-p',
      tasks,
      '-a',
      'terminus-2',
      '--ak',
      'max_turns=12',
      '--ak',
      'proactive_summarization_threshold=14000',
      ...where,
      ...kwargs,
      ...more,
    ),
  )
}

function ot(...argv: string[]): ChildProcess {
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), ...argv], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  return child
}

async function ended(child: ChildProcess): Promise<{ code: number; stderr: string }> {
  let stderr = ''
  child.stdout?.resume()
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
  child.kill(signal)
  await once(child, 'exit')
}

/** The directories of finished trials, by task. */
function finished(job: string): Map<string, string> {
  const dir = join(scratch, 'jobs', job)
  const names = readdirSync(dir).filter((name) => existsSync(join(dir, name, 'result.json')))
  return new Map(names.map((name) => [name.split('__')[0] ?? name, join(dir, name)]))
}

/** The ending of every trial, by task. */
function endings(job: string): Map<string, Ending> {
  return new Map(
    [...finished(job)].map(([task, dir]) => {
      const { exception_info: exception, verifier_result: verified, agent_result: agent } = resultIn(dir)
      // A conversation that outgrew its model is also reported as an exception, next to its score.
      const ending =
        exception && exception.exception_type !== 'ContextLengthExceededError'
          ? { code: exception.exception_type }
          : { reward: verified.rewards.reward, stop: agent.metadata.stop_reason }
      return [task, ending]
    }),
  )
}

function resultIn(dir: string) {
  return JSON.parse(readFileSync(join(dir, 'result.json'), 'utf8'))
}

/** Checks that there is no sandbox left, and no process with files in our scratch folder. */
function expectNothingLeft(): void {
  expect(readdirSync(join(scratch, 'cache/ot-agent/local/sandboxes'))).toEqual([])
  const pids = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/mountinfo`).includes(scratch),
  )
  expect(pids.map((pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))).toEqual([])
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
