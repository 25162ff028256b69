import { type ChildProcess, spawn } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import terminus from '../src/agents/terminus-2/index.ts'
import type { ModelClient } from '../src/core/model.ts'
import compatible from '../src/engines/openai-compatible.ts'
import { loadTask } from '../src/formats/harbor-task/load.ts'
import { runTrial } from '../src/run/trial.ts'
import local from '../src/sandboxes/local/index.ts'
import { agentConfig, jobConfig, trialConfig } from '../test/fakes/configs.ts'
import { writeTask } from '../test/fakes/tasks.ts'
import { percentile, type Row } from './lib/rows.ts'

const turns = 20
/** How often to measure timer lateness. */
const timerMs = 10
/**
 * The stand-in's average thinking time. Many trials share a server and wait longer, as with a real one: about 128 turns
 * per second.
 */
const levels = [
  { trials: 1, latencyMs: 20 },
  { trials: 64, latencyMs: 500 },
  { trials: 512, latencyMs: 4000 },
] as const
/** Starting sandboxes is another bench: this many start at once. */
const startsAtOnce = 4

/** The cost of a terminus-2 turn besides its model and its command, for few and for many trials in one process. */
export default {
  name: 'turns',
  run: async (): Promise<Row[]> => {
    const rows: Row[] = []
    for (const level of levels) rows.push(...(await play(level)))
    return rows
  },
}

type Level = (typeof levels)[number]

async function play(level: Level): Promise<Row[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
  const { child, baseUrl } = await serve(scratch, level.latencyMs)
  try {
    return rowsOf(level, await measure(level, scratch, baseUrl))
  } finally {
    child.kill()
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The stand-in, in a separate process: every turn runs a command that takes no time. */
async function serve(scratch: string, latencyMs: number): Promise<{ child: ChildProcess; baseUrl: string }> {
  const script = join(scratch, 'script.json')
  const work = Array.from({ length: turns }, (_, i) => ({ plan: `Step ${i}.`, commands: ['true\n'] }))
  writeFileSync(script, JSON.stringify({ turns: work }))
  // Replies take different times, or all trials would run in lockstep.
  const latency = JSON.stringify({ min: latencyMs / 2, max: latencyMs * 1.5 })
  const options = ['--script', script, '--port', '0', '-q', '--json', '--engine-kwarg', `latency_ms=${latency}`]
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), 'serve', '--engine', 'scripted', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    if (/^}$/m.test(text)) break
  }
  const { baseUrl } = JSON.parse(text) as { baseUrl: string }
  return { child, baseUrl }
}

interface Measured {
  /** From each reply to the next request. */
  readonly gapsMs: readonly number[]
  readonly cpuMs: number
  readonly wallMs: number
  readonly busy: number
  readonly latestTimerMs: number
  readonly memoryMb: number
  readonly finished: number
}

async function measure({ trials }: Level, scratch: string, baseUrl: string): Promise<Measured> {
  const task = await loadTask(await writeTask(scratch, 'nothing', { toml: 'schema_version = "1.2"\n' }))
  const context = { env: {}, stateDir: join(scratch, 'state') }
  const provider = local.make({ pids: 64, verify: 'fresh' }, context)
  const engine = compatible.make(compatible.options.parse({ api_base: baseUrl, model: 'scripted' }), context)
  const { signal } = new AbortController()
  setMaxListeners(0, signal)
  await engine.health(signal)
  const stage = makeStage(trials)
  const gapsMs: number[] = []
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  const runs: Promise<boolean>[] = []
  for (let i = 0; i < trials; i++) {
    while (i - stage.arrived() >= startsAtOnce) await wait(5)
    const config = trialConfig({
      trialName: `bench__${i}`,
      agent: agentConfig({ name: 'terminus-2', modelName: 'scripted' }),
      verifier: { ...jobConfig().verifier, disable: true },
    })
    const run = runTrial({
      task,
      agent: terminus.make(terminus.options.parse({}), context),
      client: timed(engine.client('scripted'), stage, gapsMs),
      provider,
      config,
      jobName: 'bench',
      attempt: 0,
      retries: 0,
      dir: join(scratch, 'trials', String(i)),
      signal,
      hooks: [],
      hostEnv: {},
      alternatives: async () => [],
    })
    runs.push(run.then(({ end }) => end.kind === 'scored' && end.exit.kind === 'finished'))
  }
  const ended = await Promise.all(runs)
  return { gapsMs, ...stage.measured(before), finished: ended.filter(Boolean).length }
}

/**
 * All trials wait until the last one is ready; the measurement runs from there until the first one finishes its last
 * turn.
 */
function makeStage(trials: number) {
  let arrived = 0
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const delay = monitorEventLoopDelay({ resolution: timerMs })
  let start = { cpu: process.cpuUsage(), at: performance.now(), loop: performance.eventLoopUtilization() }
  let result: Omit<Measured, 'gapsMs' | 'finished' | 'memoryMb'> | null = null
  let rss = 0
  return {
    arrived: () => arrived,
    async enter() {
      if (++arrived === trials) {
        start = { cpu: process.cpuUsage(), at: performance.now(), loop: performance.eventLoopUtilization() }
        delay.enable()
        open()
      }
      await opened
    },
    isOver: () => result !== null,
    over() {
      if (result !== null) return
      const { user, system } = process.cpuUsage(start.cpu)
      const busy = performance.eventLoopUtilization(start.loop).utilization
      rss = process.memoryUsage().rss
      result = {
        cpuMs: (user + system) / 1000,
        wallMs: performance.now() - start.at,
        busy,
        latestTimerMs: delay.max / 1e6 - timerMs,
      }
      delay.disable()
    },
    measured: (before: number) => {
      if (result === null) throw new Error('no trial came to its end')
      return { ...result, memoryMb: (rss - before) / 2 ** 20 }
    },
  }
}

/** A client that measures its agent's time from each reply to the next request. */
function timed(client: ModelClient, stage: ReturnType<typeof makeStage>, gapsMs: number[]): ModelClient {
  let repliedAt: number | null = null
  let asked = 0
  return {
    model: client.model,
    get facts() {
      return client.facts
    },
    countTokens: (messages) => client.countTokens(messages),
    async complete(request, options) {
      if (repliedAt === null) await stage.enter()
      else if (!stage.isOver()) gapsMs.push(performance.now() - repliedAt)
      if (++asked > turns) stage.over()
      const outcome = await client.complete(request, options)
      repliedAt = performance.now()
      return outcome
    },
  }
}

function rowsOf({ trials, latencyMs }: Level, measured: Measured): Row[] {
  const { gapsMs, cpuMs, wallMs, busy, latestTimerMs, memoryMb, finished } = measured
  const at = `${trials} at once`
  const [p50, p95] = [percentile(gapsMs, 0.5), percentile(gapsMs, 0.95)]
  const perTrial = memoryMb / trials
  return [
    { name: `${at}: trials that finished`, value: finished, unit: '', goal: String(trials), ok: finished === trials },
    { name: `${at}: turns a second, model ${latencyMs} ms`, value: gapsMs.length / (wallMs / 1000), unit: '/s' },
    { name: `${at}: reply to next request, p50`, value: p50, unit: 'ms', goal: 'at most 5', ok: p50 <= 5 },
    ...[{ name: `${at}: the same, p95`, value: p95, unit: 'ms' }].map((row) =>
      trials === 64 ? { ...row, goal: 'at most 20', ok: p95 <= 20 } : row,
    ),
    { name: `${at}: CPU of this process per turn`, value: cpuMs / gapsMs.length, unit: 'ms' },
    { name: `${at}: CPU of this process`, value: cpuMs / wallMs, unit: 'cores' },
    { name: `${at}: event loop busy`, value: busy * 100, unit: '%' },
    { name: `${at}: latest timer`, value: latestTimerMs, unit: 'ms', goal: 'at most 100', ok: latestTimerMs <= 100 },
    ...(trials === 512
      ? [
          {
            name: `${at}: memory of this process per trial`,
            value: perTrial,
            unit: 'MiB',
            goal: 'at most 3',
            ok: perTrial <= 3,
          },
        ]
      : []),
  ]
}
