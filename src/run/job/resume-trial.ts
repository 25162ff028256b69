import type { Agent } from '../../core/agent.ts'
import type { TrialConfig } from '../../core/job.ts'
import type { RecordedAttempt } from '../../core/replay.ts'
import type { Resumed, TrialRecord } from '../../core/trial.ts'
import { Resumption, whyUnfit } from '../replay/resumption.ts'
import type { HostEnv } from '../trial/context.ts'
import { makeMask, masked, secretsOf } from '../trial/mask.ts'

/** What is needed to resume an interrupted trial. */
export interface TrialToResume {
  readonly config: TrialConfig
  readonly hostEnv: HostEnv
  /** Its directory, empty. */
  readonly dir: string
  /** Whether the recorded replies may be used at all. */
  readonly isAllowed: boolean
  readonly makeAgent: () => Promise<Agent>
  readonly runInDir: (agent: Agent, dir: string, resumption?: Resumption) => Promise<TrialRecord>
  /** Discards what was recorded. */
  readonly drop: () => Promise<void>
  /** The same, and returns the trial's directory, emptied of the current attempt. */
  readonly startOver: () => Promise<string>
  readonly signal: AbortSignal
}

/**
 * Runs a trial with the replies that an interrupted attempt received, and continues with the model from there. If they
 * cannot be used, it starts over with a fresh agent, sandbox and directory, using only the model. The record says
 * which.
 */
export async function resumeTrial(recorded: RecordedAttempt, trial: TrialToResume): Promise<TrialRecord> {
  const { config, hostEnv, drop } = trial
  const agent = await trial.makeAgent()
  const reason = whyNot(recorded, agent, trial)
  if (reason !== null) {
    await drop()
    return { ...(await trial.runInDir(agent, trial.dir)), resumed: { kind: 'not-replayed', reason } }
  }
  const resumption = new Resumption(recorded, { mask: makeMask(config, hostEnv), drop })
  const record = await trial.runInDir(agent, trial.dir, resumption)
  const mustStartOver = resumption.mustStartOver(record.end)
  const resumed: Resumed = resumption.record()
  if (!mustStartOver) return { ...record, resumed }
  if (trial.signal.aborted) return { ...record, end: { kind: 'cancelled' }, resumed }
  const dir = await trial.startOver()
  return { ...(await trial.runInDir(await trial.makeAgent(), dir)), resumed }
}

function whyNot(recorded: RecordedAttempt, agent: Agent, { isAllowed, config, hostEnv }: TrialToResume): string | null {
  if (!isAllowed) return 'replaying interrupted trials is disabled'
  if (agent.repeats === false) return `${agent.name} may send different requests even with the same replies`
  return whyUnfit(recorded, secretsOf(config, hostEnv).length > 0, masked)
}
