import type { Agent } from '../../core/agent.ts'
import type { AgentConfig, RetryConfig, TrialConfig } from '../../core/job.ts'
import type { ModelFacts } from '../../core/model.ts'
import { promptsDigestOf, type RecordedTrial, type ReplayVerdict } from '../../core/replay.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { describeEnd } from '../../core/trial.ts'
import { loadForTrials, openTrialStore } from '../../store/open-store.ts'
import { runTrials } from '../job/run-trials.ts'
import type { PrefetchSettings } from '../prefetch.ts'
import type { HostEnv } from '../trial/context.ts'
import type { SandboxAlternatives } from '../trial/environment.ts'
import { Tape } from './tape.ts'

/** A recorded trial with everything its replay needs. */
export interface TrialToReplay {
  readonly recorded: RecordedTrial
  readonly task: Task
  /** As it was run, except for settings that do not affect what the agent sees. Its name is unique. */
  readonly config: TrialConfig
  readonly facts: ModelFacts
}

export interface ReplayRequest {
  readonly provider: SandboxProvider
  readonly makeAgent: (config: AgentConfig) => Promise<Agent>
  /** An empty directory for the trials' files. */
  readonly dir: string
  readonly nConcurrent: number
  readonly prefetch: PrefetchSettings
  readonly hostEnv: HostEnv
  readonly alternatives: SandboxAlternatives
  readonly signal: AbortSignal
}

/** The outcome of one trial's replay. */
export interface ReplayedTrial {
  readonly trial: TrialToReplay
  /** By row. */
  readonly verdicts: ReadonlyMap<string, ReplayVerdict>
  readonly agentVersion: string
  readonly promptsDigest: string | null
  /** Null when nothing was verified. */
  readonly rewards: Rewards | null
}

const noRetries: RetryConfig = {
  maxRetries: 0,
  include: null,
  exclude: [],
  waitMultiplier: 1,
  minWaitSec: 0,
  maxWaitSec: 0,
}

/**
 * Runs recorded trials again in fresh sandboxes, with the recorded replies in place of a model; reports each as soon as
 * it ends.
 */
export async function replayTrials(
  trials: readonly TrialToReplay[],
  request: ReplayRequest,
  ended: (replayed: ReplayedTrial) => void,
): Promise<void> {
  const byName = new Map(trials.map((trial) => [trial.config.trialName, trial]))
  const tapes = new Map<string, Tape>()
  await loadForTrials(request.dir, 'harbor')
  const store = await openTrialStore(request.dir, 'harbor')
  const plan = trials.map(({ task, config }) => ({ name: config.trialName, task, attempt: 0, config }))
  try {
    await runTrials(plan, {
      ...request,
      jobName: 'replay',
      jobDir: request.dir,
      retry: noRetries,
      store,
      hooks: [],
      clientFor: ({ modelName }, name) => {
        const trial = byName.get(name)
        if (!trial) return null
        const tape = new Tape(trial.recorded, new Date())
        tapes.set(name, tape)
        return tape.client(modelName ?? 'recorded', trial.facts)
      },
      watch: {
        started: () => {},
        retrying: () => {},
        ended: (record) => {
          const trial = byName.get(record.name)
          if (trial && record.end.kind !== 'cancelled') ended(judge(trial, record, tapes.get(record.name)))
        },
      },
    })
  } finally {
    await store.close()
  }
  request.signal.throwIfAborted()
}

function judge(trial: TrialToReplay, record: TrialRecord, tape: Tape | undefined): ReplayedTrial {
  const { end, agent } = record
  const exit = describeEnd(end)
  const rows = new Set(trial.recorded.turns.map(({ row }) => row))
  // Neither the row nor the agent is to blame if a sandbox did not start or an agent could not be installed.
  const isReplayed = tape?.isTouched && !(end.kind === 'failed' && !['agent', 'model'].includes(end.failure.boundary))
  const why: ReplayVerdict = { kind: 'cannot-be-replayed', reason: exit }
  const verdicts = isReplayed ? tape.verdicts(exit) : new Map([...rows].map((row) => [row, why]))
  const rewards = end.kind === 'scored' ? end.rewards : null
  return { trial, verdicts, agentVersion: agent.version, promptsDigest: promptsDigestOf(record), rewards }
}
