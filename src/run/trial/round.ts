import { rename as renameOver } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentExit } from '../../core/agent.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { Frozen, Isolation, SandboxLease } from '../../core/sandbox.ts'
import { sandboxPaths } from '../../core/task-paths.ts'
import type { Span, SystemReport } from '../../core/trial.ts'
import { list, lstatOrNull, mkdir, remove, rename } from '../../lib/disk.ts'
import { exists } from '../../lib/files.ts'
import { utcNow } from '../../lib/time.ts'
import { dropLeavingLinks } from '../../lib/tree-writer.ts'
import { solve } from './agent-phase.ts'
import { saveArtifacts } from './artifacts.ts'
import { bestEffort } from './boundary.ts'
import { type AgentTrial, agentDirOf, type Round, type TrialContext } from './context.ts'
import type { TestBench } from './tests-run.ts'
import { type AgentReport, makeRecorder } from './trial-log.ts'
import { describeSystem, type Verified } from './two-systems.ts'
import { forTests, freeze, verifyInPlace, verifySeparately } from './verify.ts'

/** What is known about a round, filled in while it runs, so that a round that fails keeps what it had. */
export interface RoundNotes {
  exit: AgentExit | null
  rewards: Rewards | null
  isolation: Isolation | null
  bothRewardFiles: boolean
  system: SystemReport | null
  agentExecution: Span | null
  verifier: Span | null
  report: () => AgentReport
}

export function emptyNotes(): RoundNotes {
  return {
    exit: null,
    rewards: null,
    isolation: null,
    bothRewardFiles: false,
    system: null,
    agentExecution: null,
    verifier: null,
    report: () => ({ usage: null, metadata: null }),
  }
}

/** Lets the agent work, kills whatever it left running, saves its logs, verifies, and saves the artifacts. */
export async function runRound(context: AgentTrial, bench: TestBench, round: Round, notes: RoundNotes): Promise<void> {
  notes.exit = await agentTurn(context, bench, round, notes)
  context.log(`agent ended: ${JSON.stringify(notes.exit)}`)
  const frozen = await freeze(context, bench.lease, forTests(context, round))
  await saveAgentLogs(context, bench.lease, round)
  if (context.config.verifier.disable) {
    await saveArtifacts(context, bench.lease, round)
    return
  }
  await context.announce('verification-start')
  const verified = await timed(
    (span) => {
      notes.verifier = span
    },
    () =>
      round.verifier.mode === 'separate'
        ? separately(context, bench, round, frozen)
        : inPlace(context, bench, round, frozen),
  )
  context.log(`rewards ${JSON.stringify(verified.rewards)}, verifier isolation ${verified.isolation}`)
  notes.rewards = verified.rewards
  notes.isolation = verified.isolation
  notes.bothRewardFiles = verified.bothRewardFiles
  notes.system = verified.system ?? null
  if (verified.system?.differ) context.log(`rewards differ: ${describeSystem(verified.system)}`)
}

async function agentTurn(
  context: AgentTrial,
  { lease, network }: TestBench,
  round: Round,
  notes: RoundNotes,
): Promise<AgentExit> {
  const dir = agentDirOf(round)
  const { record, report } = makeRecorder(context.log, {
    mark: (reply, mark) => context.exchanges.mark(dir, reply, mark),
    refused: (call) => context.exchanges.refused(dir, call),
  })
  notes.report = report
  await network.use(round.agent.network)
  await context.announce('agent-start')
  try {
    const note = (span: Span) => {
      notes.agentExecution = span
    }
    return await timed(note, () => solve(context, lease, round, record))
  } catch (error) {
    if (!context.signal.aborted) await salvageAgentLogs(context, lease, round)
    throw error
  } finally {
    const last = report()
    notes.report = () => last
  }
}

/** What a failed agent wrote before it failed is the best hint at the cause. */
async function salvageAgentLogs(context: TrialContext, lease: SandboxLease, round: Round): Promise<void> {
  const frozen = await bestEffort('freeze after a failure', 120, context, async () => {
    await freeze(context, lease)
  })
  if (frozen) await saveAgentLogs(context, lease, round)
}

/** Harbor saves artifacts after the tests, which may add to them, even if the tests failed. */
function inPlace(context: TrialContext, bench: TestBench, round: Round, frozen: Frozen): Promise<Verified> {
  return verifyInPlace(context, bench, {
    round,
    frozen,
    saveFiles: async () => {
      if (!context.signal.aborted) await saveArtifacts(context, bench.lease, round)
    },
  })
}

async function separately(
  context: TrialContext,
  { lease }: TestBench,
  round: Round,
  frozen: Frozen,
): Promise<Verified> {
  for (const { command, timeoutSec, user } of round.verifier.collect) {
    await bestEffort('collect', timeoutSec + 30, context, async (signal) => {
      const options = { timeoutSec, signal, ...(user !== undefined && { user }) }
      const { exitCode, stderr } = await lease.exec(['bash', '-c', command], options)
      if (exitCode !== 0) context.log(`collect command exited with ${exitCode}: ${stderr.slice(0, 500)}`)
    })
  }
  const verified = await verifySeparately(context, round, await saveArtifacts(context, lease, round))
  const { restored } = frozen
  if (restored === null || restored.total === 0) return verified
  // What was collected came from the image's system; nothing else of the agent's reached the tests.
  return { ...verified, system: { restored, onImage: verified.rewards, differ: false } }
}

/** Runs work and reports when it started and, whether or not it failed, when it ended. */
export async function timed<T>(note: (span: Span) => void, work: () => Promise<T>): Promise<T> {
  const startedAt = utcNow()
  note({ startedAt, finishedAt: null })
  try {
    return await work()
  } finally {
    note({ startedAt, finishedAt: utcNow() })
  }
}

const limitBytes = 256 * 1024 * 1024
const limitSec = 300

/** Names under which we record an agent's exchanges with its model. */
const oursOnly = /^(?:trajectory|exchanges|model-calls)/i

/**
 * Downloads `/logs/agent` as far as possible. A sandbox's file never replaces one that the agent wrote on the host, and
 * never gets a name that readers of traces trust: it is kept as `from-sandbox.NAME`.
 */
async function saveAgentLogs(context: TrialContext, lease: SandboxLease, round: Round): Promise<void> {
  const target = agentDirOf(round)
  const incoming = join(round.dir, '.agent-logs')
  await bestEffort('agent logs', limitSec, context, async (signal) => {
    try {
      await mkdir(target, { recursive: true })
      await lease.downloadDir(sandboxPaths.agentLogs, incoming, { limitBytes })
      signal.throwIfAborted()
      if (!(await takesPlace(target, incoming))) {
        await moveInto(incoming, target, (name) => (oursOnly.test(name) ? `from-sandbox.${name}` : name))
        await dropLeavingLinks(target)
      }
    } finally {
      // Also after it was abandoned, once it has really ended.
      await remove(incoming).catch(() => {})
    }
  })
}

/**
 * Most agents write nothing on the host and no file with one of our names: then one call moves everything. False:
 * nothing was moved.
 */
async function takesPlace(target: string, incoming: string): Promise<boolean> {
  if ((await list(target)).length > 0 || !(await exists(incoming))) return false
  if ((await list(incoming)).some(({ name }) => oursOnly.test(name))) return false
  // Asynchronous, because a disk may take long to remove the empty directory there.
  return renameOver(incoming, target).then(
    () => true,
    () => false,
  )
}

async function moveInto(source: string, target: string, named = (name: string) => name): Promise<void> {
  if (!(await exists(source))) return
  for (const entry of await list(source)) {
    const from = join(source, entry.name)
    const to = join(target, named(entry.name))
    const there = await lstatOrNull(to)
    if (there === null) await rename(from, to)
    else if (there.isDirectory() && entry.isDirectory()) await moveInto(from, to)
  }
}
