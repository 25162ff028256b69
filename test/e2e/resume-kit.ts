import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ModelRequest } from '../../src/core/model.ts'
import type { TrialRecord } from '../../src/core/trial.ts'
import type { ModelService, ServiceAnswer } from '../../src/formats/dialect-server/model-service.ts'
import { readExchanges } from '../../src/formats/exchanges/read-exchanges.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { openForReading } from '../../src/store/trial-files.ts'
import { writeTask } from '../fakes/tasks.ts'
import { scratch } from './kit.ts'

/** What the agent types, turn by turn; then it says twice that it is done. */
export const typed: readonly string[] = ['pwd', 'mkdir -p work && ls', 'date', 'echo 42 > /answer; cat /answer']
/** Number of replies in a complete run. */
export const wholeTurns = typed.length + 2

/** A model whose next reply depends only on the conversation, and which counts the replies it was paid for. */
export class CountingModel implements ModelService {
  answered = 0
  typed = typed
  /** Requests that contain this many replies get no answer. */
  holdsAt: number | null = null
  /** Narrows `holdsAt` to some of these requests. */
  holdsIf: (request: ModelRequest) => boolean = () => true
  private held: () => void = () => {}
  private server: ServedModelService | undefined

  async open(): Promise<void> {
    this.server = await serveModel(this, { host: '127.0.0.1', port: 0, apiKey: null })
  }

  close = async () => this.server?.close()

  get origin(): string {
    return this.server?.origin ?? ''
  }

  /** Withholds the answer to requests that contain this many replies, and resolves when one arrives. */
  hold(turn: number): Promise<void> {
    this.holdsAt = turn
    return new Promise((resolve) => {
      this.held = resolve
    })
  }

  async prepare() {}

  async models() {
    return [{ id: 'counted', contextTokens: 100_000, outputTokens: null }]
  }

  load() {
    return { running: 0, waiting: 0, cacheUse: 0 }
  }

  async answer({ request }: Parameters<ModelService['answer']>[0]): Promise<ServiceAnswer> {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length
    if (turn === this.holdsAt && this.holdsIf(request)) {
      this.held()
      return { kind: 'silence' }
    }
    this.answered++
    const keystrokes = this.typed[turn]
    const commands = keystrokes === undefined ? [] : [{ keystrokes: `${keystrokes}\n`, duration: 20 }]
    const text = JSON.stringify({ analysis: `turn ${turn}`, plan: '', commands, task_complete: commands.length === 0 })
    const usage = { inputTokens: 100 * (turn + 1), cacheTokens: 10, outputTokens: 7 }
    return { kind: 'reply', reply: { text, reasoning: null, toolCalls: [], finish: 'stop', usage, tokens: null } }
  }
}

export interface JobUnderTest {
  readonly dir: string
  start(...more: string[]): ChildProcess
  /** Runs it to its end. */
  finish(...more: string[]): Promise<{ code: number | null; stderr: string; summary: Record<string, unknown> }>
  /** Starts it, and stops it with a signal as soon as the model gets a request that contains this many replies. */
  interruptAt(turn: number, signal: NodeJS.Signals, ...more: string[]): Promise<void>
  record(): Promise<TrialRecord>
  exchanges(): Promise<ReturnType<typeof readExchanges>>
  /** The directory of the job's only trial, running or finished. */
  workDir(): string
}

let count = 0

/** A job of one small task and one attempt on a model. */
export async function makeJob(
  model: CountingModel,
  {
    layout = 'harbor',
    words = ['-a', 'terminus-2'],
    task = {},
  }: { layout?: string; words?: string[]; task?: object } = {},
): Promise<JobUnderTest> {
  const place = join(scratch, `resume-${++count}`)
  await writeTask(join(place, 'tasks'), 'answer', task)
  const dir = join(place, 'jobs/job')
  const line = [
    ...['run', '-p', join(place, 'tasks'), ...words, '-m', 'counted', '--api-base', `${model.origin}/v1`],
    ...['-o', join(place, 'jobs'), '--job-name', 'job', '--store', layout, '-q', '--json'],
  ]
  const start = (...more: string[]) => startProgram([...line, ...more])
  const workDir = () => {
    const root = layout === 'packed' && existsSync(join(dir, '.work')) ? join(dir, '.work') : dir
    return join(root, readdirSync(root).find((name) => name.startsWith('answer__')) ?? '')
  }
  const reading = () => openForReading(dir, layout === 'packed' ? 'packed' : 'harbor')
  const record = async () => {
    const store = await reading()
    for await (const each of store.records()) return each
    throw new Error('no record')
  }
  return {
    dir,
    start,
    workDir,
    record,
    finish: (...more) => finished(start(...more)),
    interruptAt: async (turn, signal, ...more) => {
      const asked = model.hold(turn)
      const child = start(...more)
      await asked
      child.kill(signal)
      await once(child, 'exit')
      model.holdsAt = null
    },
    exchanges: async () => {
      const store = await reading()
      const files = await store.readFiles((await record()).name, (_, name) => (name === 'exchanges.jsonl' ? 1e8 : null))
      return readExchanges(files[0]?.bytes ?? Buffer.alloc(0))
    },
  }
}

export function startProgram(argv: readonly string[]): ChildProcess {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  return spawn(process.execPath, [resolve('bin/ot-agent.js'), ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

export async function finished(child: ChildProcess) {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stderr, summary: stdout.trim().startsWith('{') ? JSON.parse(stdout) : {} }
}

const clock = /\w{3} \w{3} +\d+ [\d:]{8}( [AP]M)? \w+ \d{4}/g

/** The exported row of a job's only trial, without names and dates. */
export function rowOf({ dir }: JobUnderTest): Record<string, unknown> {
  const out = join(dir, '..', `export-${++count}`)
  const argv = ['bin/ot-agent.js', 'traces', 'export', '-p', dir, '--out', out, '--format', 'jsonl']
  execFileSync(process.execPath, argv, { env: { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') } })
  const file = readdirSync(out, { recursive: true, encoding: 'utf8' }).find((name) => name.includes('train')) ?? ''
  const text = readFileSync(join(out, file), 'utf8').trim().split('\n')[0] ?? ''
  const { id: _, trial_name: __, date: ___, run_id: ____, ...row } = JSON.parse(text.replace(clock, 'some time'))
  return row
}
