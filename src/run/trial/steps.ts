import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { Step } from '../../core/task.ts'
import { setupScript, stepWorkdir } from '../../core/task-paths.ts'
import type { StepRecord, TrialEnd } from '../../core/trial.ts'
import { exists } from '../../lib/files.ts'
import { atBoundary, failureOf } from './boundary.ts'
import { type AgentTrial, environmentStartLimitSec, type Round, roundOfStep, type TrialContext } from './context.ts'
import { emptyNotes, type RoundNotes, runRound } from './round.ts'
import { waitUntilHealthy } from './start-sandbox.ts'
import type { TestBench } from './tests-run.ts'
import { freeze } from './verify.ts'

/** What a task with steps leaves: a record per step that ran, and what holds for the whole trial. */
export interface StepNotes {
  readonly steps: StepRecord[]
  readonly round: RoundNotes
}

/** Runs the steps of a task in one sandbox, in order, until one does not reach its gate. */
export async function runSteps(context: AgentTrial, bench: TestBench, notes: StepNotes): Promise<TrialEnd> {
  const { steps, stepReward } = context.task
  const records = notes.steps
  for (const [index, step] of steps.entries()) {
    context.log(`step ${step.name}`)
    const record = await runStep(context, bench, { step, again: index > 0, whole: notes })
    if (!context.config.verifier.disable && !reaches(record.rewards, step.minReward)) {
      context.log(`step ${step.name} did not reach its minimum reward; later steps do not run`)
      break
    }
  }
  const rewards = records.map((record) => record.rewards).filter((value) => value !== null)
  const exit = records.at(-1)?.exit ?? { kind: 'finished' }
  return { kind: 'scored', rewards: stepReward === 'final' ? (rewards.at(-1) ?? null) : meanRewards(rewards), exit }
}

interface StepRun {
  readonly step: Step
  readonly again: boolean
  readonly whole: StepNotes
}

async function runStep(context: AgentTrial, bench: TestBench, { step, again, whole }: StepRun): Promise<StepRecord> {
  const notes = emptyNotes()
  const round = roundOfStep(context, step, join(context.dir, 'steps', step.name))
  try {
    if (again) await clearUp(context, bench)
    await setUpStep(context, bench, step, round)
    await runRound(context, bench, round, notes)
    const record = recordOf(step, notes, null)
    whole.steps.push(record)
    return record
  } catch (error) {
    if (error instanceof BoundaryError) whole.steps.push(recordOf(step, notes, failureOf(error)))
    throw error
  } finally {
    // One shared verification is enough to call the whole trial shared.
    if (whole.round.isolation !== 'shared') whole.round.isolation = notes.isolation ?? whole.round.isolation
    whole.round.bothRewardFiles ||= notes.bothRewardFiles
  }
}

/** The step's files go where commands run; its `setup.sh` must succeed before the agent starts. */
async function setUpStep(
  context: TrialContext,
  { lease, network }: TestBench,
  step: Step,
  round: Round,
): Promise<void> {
  const { signal } = context
  const files = stepWorkdir(step.dir)
  await network.use(undefined)
  if (await exists(files)) await atBoundary('sandbox', signal, () => lease.uploadDir(files, lease.workdir))
  if (await exists(join(files, setupScript))) {
    const timeoutSec = environmentStartLimitSec(context.task.environment, context.config)
    const user = round.agent.user
    const options = { timeoutSec, signal, ...(user !== undefined && { user }) }
    const ran = await atBoundary('sandbox', signal, () =>
      lease.exec(['bash', join(lease.workdir, setupScript)], options),
    )
    if (ran.exitCode !== 0) throw setupFailed(step, ran.exitCode, ran.stderr)
  }
  if (step.healthcheck) await waitUntilHealthy(lease, step.healthcheck, context)
}

function setupFailed(step: Step, exitCode: number, stderr: string): BoundaryError {
  return new BoundaryError(
    'task',
    `steps/${step.name}/workdir/${setupScript} exited with ${exitCode}: ${stderr.slice(0, 500)}`,
  )
}

/**
 * The previous step's results are already saved; kills the processes of its tests and, where possible, removes their
 * files, so that the next agent cannot see them.
 */
async function clearUp(context: TrialContext, { lease }: TestBench): Promise<void> {
  await freeze(context, lease)
  const script =
    'rm -rf /logs/agent/* /logs/agent/.[!.]* /logs/agent/..?*; mkdir -p /logs/agent && chmod 777 /logs/agent'
  const options = { user: 'root', signal: context.signal, timeoutSec: 60 }
  await atBoundary('sandbox', context.signal, () => lease.exec(['sh', '-c', script], options))
}

function recordOf(step: Step, notes: RoundNotes, failure: StepRecord['failure']): StepRecord {
  const { exit, rewards, agentExecution, verifier, system } = notes
  const known = { name: step.name, rewards, exit, failure, ...notes.report(), agentExecution, verifier }
  return { ...known, ...(system && { system }) }
}

/** A missing reward is below every minimum. */
export function reaches(rewards: Rewards | null, minimum: Rewards | undefined): boolean {
  return Object.entries(minimum ?? {}).every(([key, least]) => (rewards?.[key] ?? Number.NEGATIVE_INFINITY) >= least)
}

/** The mean of each reward over the verified steps; a step that does not name it counts as 0. */
export function meanRewards(all: readonly Rewards[]): Rewards | null {
  if (all.length === 0) return null
  const keys = new Set(all.flatMap((rewards) => Object.keys(rewards)))
  const mean = (key: string) => all.reduce((sum, rewards) => sum + (rewards[key] ?? 0), 0) / all.length
  return Object.fromEntries([...keys].map((key) => [key, mean(key)]))
}
