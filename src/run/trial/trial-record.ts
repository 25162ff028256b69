import { randomUUID } from 'node:crypto'
import type { TrialConfig } from '../../core/job.ts'
import { redactTrialConfig } from '../../core/redact.ts'
import type { SandboxFacts } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import type { Span, StepRecord, TrialEnd, TrialRecord } from '../../core/trial.ts'
import { utcNow } from '../../lib/time.ts'
import type { HostEnv } from './context.ts'
import { emptyNotes, type RoundNotes } from './round.ts'

/** What becomes known while a trial runs, whether or not it reaches a score. */
export interface TrialNotes {
  sandbox: SandboxFacts | null
  environmentSetup: Span | null
  agentSetup: Span | null
  readonly round: RoundNotes
  readonly steps: StepRecord[]
  readonly startedAt: string
}

export function startNotes(): TrialNotes {
  const notes = { sandbox: null, environmentSetup: null, agentSetup: null, round: emptyNotes(), steps: [] }
  return { ...notes, startedAt: utcNow() }
}

/** The parts of a trial's request that its record repeats. */
export interface TrialSubject {
  readonly task: Task
  readonly agent: { readonly name: string; readonly version: string }
  readonly config: TrialConfig
  readonly attempt: number
  readonly retries: number
  readonly hostEnv: HostEnv
}

/** Assembles the record of a trial that has ended. Contains no secret. */
export function makeRecord(subject: TrialSubject, notes: TrialNotes, end: TrialEnd): TrialRecord {
  const { task, config, agent, attempt, retries } = subject
  const { round, startedAt } = notes
  const { name, dir: path, digests } = task
  return {
    schema: 'trial/1',
    id: randomUUID(),
    name: config.trialName,
    task: { name, path, source: config.task.source, digest: digests.content, checksum: digests.dirhash },
    agent: { name: agent.name, version: agent.version, model: config.agent.modelName },
    attempt,
    config: redactTrialConfig(config, subject.hostEnv),
    end,
    isolation: round.isolation,
    bothRewardFiles: round.bothRewardFiles,
    ...(round.system && { system: round.system }),
    ...round.report(),
    sandbox: notes.sandbox,
    spans: {
      environmentSetup: notes.environmentSetup,
      agentSetup: notes.agentSetup,
      agentExecution: round.agentExecution,
      verifier: round.verifier,
    },
    steps: task.steps.length > 0 ? notes.steps : null,
    retries,
    startedAt,
    finishedAt: utcNow(),
  }
}

/** A failure's message can come from anywhere, so the trial's secrets are masked in it. */
export function maskEnd(end: TrialEnd, mask: (text: string) => string): TrialEnd {
  if (end.kind !== 'failed') return end
  const { message, stack } = end.failure
  return { kind: 'failed', failure: { ...end.failure, message: mask(message), stack: mask(stack) } }
}
