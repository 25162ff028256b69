import { execFile } from 'node:child_process'
import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import oracle from '../../src/agents/oracle.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import type { Task } from '../../src/core/task.ts'
import { parseTrialConfigDocument } from '../../src/formats/harbor-job/job-config.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { runTrial } from '../../src/run/trial.ts'
import { passingSolve, passingTest, writeTask } from '../../test/fakes/tasks.ts'
import { percentile, type Row } from './rows.ts'

const rounds = 12

/** The engine's own command line. */
export interface CommandLine {
  readonly program: string
  readonly env: NodeJS.ProcessEnv
}

interface TrialsAt {
  readonly provider: SandboxProvider
  readonly cli: CommandLine
  readonly image: string
  readonly scratch: string
}

/** Oracle trials alternating with the engine's own `run` of the same scripts, one at a time. */
export async function trialRows({ provider, cli, image, scratch }: TrialsAt): Promise<Row[]> {
  const toml = `schema_version = "1.2"\n[environment]\nallow_internet = false\ndocker_image = "${image}"\n`
  const task = await loadTask(await writeTask(scratch, 'oracle', { toml }))
  const script = `mkdir -p /logs/verifier; ${passingSolve}; ${passingTest}`
  const argv = ['run', '--rm', '--network', 'none', image, 'bash', '-c', script]
  const [ours, theirs, calls]: [number[], number[], number[]] = [[], [], []]
  // The first of each is not counted.
  for (let round = -1; round < rounds; round++) {
    const counted = countCalls()
    const oursMs = await timed(() => oracleTrial(provider, task, join(scratch, `trial-${round}`)))
    const made = counted.end()
    const theirsMs = await timed(() => promisify(execFile)(cli.program, argv, { env: cli.env }))
    if (round < 0) continue
    ours.push(oursMs)
    calls.push(made)
    theirs.push(theirsMs)
  }
  const ratio = percentile(ours, 0.5) / percentile(theirs, 0.5)
  const name = cli.program.split('/').at(-1)
  return [
    { name: 'oracle trial p50', value: percentile(ours, 0.5), unit: 'ms' },
    { name: `the same scripts with ${name} run p50`, value: percentile(theirs, 0.5), unit: 'ms' },
    { name: `oracle trial, times ${name} run`, value: ratio, unit: 'x', goal: 'at most 2', ok: ratio <= 2 },
    { name: 'calls of the engine in an oracle trial', value: percentile(calls, 0.5), unit: 'calls' },
  ]
}

async function oracleTrial(provider: SandboxProvider, task: Task, dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true })
  const asked = { task: { path: task.dir }, trial_name: 'oracle', agent: { name: 'oracle' } }
  const record = await runTrial({
    task,
    agent: oracle.make({}, { env: {}, stateDir: dir }),
    provider,
    config: parseTrialConfigDocument(asked, 'this bench').config,
    jobName: 'bench',
    attempt: 0,
    retries: 0,
    dir,
    signal: new AbortController().signal,
    hooks: [],
    hostEnv: {},
    alternatives: async () => [],
  })
  const { end } = record
  if (end.kind !== 'scored' || end.rewards?.reward !== 1) throw new Error(`not scored: ${JSON.stringify(end)}`)
}

/** Counts this process's requests by either of the two clients that speak to engines. */
function countCalls(): { end(): number } {
  let count = 0
  const add: ChannelListener = () => count++
  const channels = ['undici:request:create', 'http.client.request.start']
  for (const name of channels) subscribe(name, add)
  return {
    end: () => {
      for (const name of channels) unsubscribe(name, add)
      return count
    },
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
