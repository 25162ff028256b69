import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import type { Agent } from '../../src/core/agent.ts'
import type { TrialConfig } from '../../src/core/job.ts'
import type { ModelClient } from '../../src/core/model.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import type { TrialHook, TrialRecord } from '../../src/core/trial.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import type { SandboxAlternatives } from '../../src/run/trial/environment.ts'
import { runTrial } from '../../src/run/trial.ts'
import local from '../../src/sandboxes/local/index.ts'
import { solver } from '../fakes/agents.ts'
import { trialConfig } from '../fakes/configs.ts'
import '../needs.ts'
import { type TaskFiles, writeTask } from '../fakes/tasks.ts'

/** A separate folder for each test file, removed with the run's temporary directory. */
export const scratch = await mkdtemp(join(tmpdir(), 'ot-agent-e2e-'))
export const stateDir = join(scratch, 'state')

/** The real local sandbox, with its leases in the scratch folder. */
export const provider: SandboxProvider = local.make({ pids: 512, verify: 'fresh' }, { env: {}, stateDir })

const unable = await provider.preflight({ networks: ['public'] }).then(
  () => null,
  (error: Error) => error.message,
)

/** A suite that needs real sandboxes; on a machine without them it is skipped by name, with the reason. */
export function withSandboxes(title: string, suite: () => void, alsoUnable: string | null = null): void {
  const skipReason = unable ?? alsoUnable
  describe(title, { skip: skipReason !== null, meta: skipReason === null ? {} : { skipReason } }, suite)
}

export const alternatives: SandboxAlternatives = async () => ['docker']

export interface Play {
  readonly task?: TaskFiles
  readonly agent?: Agent
  readonly client?: ModelClient
  readonly provider?: SandboxProvider
  readonly config?: Partial<TrialConfig>
  readonly hooks?: readonly TrialHook[]
  readonly signal?: AbortSignal
  /** Time limit for releasing a sandbox; none by default. */
  readonly releaseSec?: number
  /** Tampers with the trial's future directory before the trial starts. */
  readonly prepareDir?: (dir: string) => void
}

let count = 0

/** Runs one trial of a small task and returns its record and its directory. */
export async function playTrial(play: Play): Promise<{ record: TrialRecord; dir: string }> {
  const place = join(scratch, `play-${++count}`)
  const task = await loadTask(await writeTask(place, 'small', play.task))
  const dir = join(place, 'trial')
  play.prepareDir?.(dir)
  const record = await runTrial({
    task,
    agent: play.agent ?? solver,
    client: play.client ?? null,
    provider: play.provider ?? provider,
    config: trialConfig({ trialName: `small__${count}`, ...play.config }),
    jobName: 'e2e',
    attempt: 0,
    retries: 0,
    dir,
    signal: play.signal ?? new AbortController().signal,
    hooks: play.hooks ?? [],
    hostEnv: {},
    alternatives,
    releaseSec: play.releaseSec ?? 600,
  })
  return { record, dir }
}

/** What remains of sandboxes: leases that a reaper would find, and machines this process still holds. */
export async function leftovers(): Promise<string[]> {
  const reapable = (await provider.reap({ dryRun: true })).map((reaped) => reaped.what)
  const machines = await readdir(join(stateDir, 'local', 'sandboxes')).catch(() => [])
  return [...reapable, ...machines]
}
