import type { AgentExit } from '../../core/agent.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { Frozen, Isolation, SandboxLease } from '../../core/sandbox.ts'
import type { Span, SystemReport } from '../../core/trial.ts'
import { utcNow } from '../../lib/time.ts'
import { saveAgentLogs } from './agent-logs.ts'
import { solve } from './agent-phase.ts'
import { saveArtifacts } from './artifacts.ts'
import { bestEffort } from './boundary.ts'
import { makeRecorder, type Told } from './recorder.ts'
import { agentDirOf, type Play, type Round, type Scene } from './scene.ts'
import type { TestBench } from './tests-run.ts'
import { describeSystem, type Verified } from './two-systems.ts'
import { forTests, freeze, verifyInPlace, verifySeparately } from './verify.ts'

/** What is known about a round, filled in while it runs, so that a round that fails leaves what it had. */
export interface RoundNotes {
  exit: AgentExit | null
  rewards: Rewards | null
  isolation: Isolation | null
  bothRewardFiles: boolean
  system: SystemReport | null
  agentExecution: Span | null
  verifier: Span | null
  told: () => Told
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
    told: () => ({ usage: null, metadata: null }),
  }
}

/** Lets the agent work, kills whatever it left running, keeps its logs, verifies, keeps the artefacts. */
export async function runRound(scene: Play, bench: TestBench, round: Round, notes: RoundNotes): Promise<void> {
  notes.exit = await agentTurn(scene, bench, round, notes)
  scene.log(`agent ended: ${JSON.stringify(notes.exit)}`)
  const frozen = await freeze(scene, bench.lease, forTests(scene, round))
  await saveAgentLogs(scene, bench.lease, round)
  if (scene.config.verifier.disable) {
    await saveArtifacts(scene, bench.lease, round)
    return
  }
  await scene.announce('verification-start')
  const verified = await timed(
    (span) => {
      notes.verifier = span
    },
    () =>
      round.verifier.mode === 'separate'
        ? separately(scene, bench, round, frozen)
        : inPlace(scene, bench, round, frozen),
  )
  scene.log(`rewards ${JSON.stringify(verified.rewards)}, verifier isolation ${verified.isolation}`)
  notes.rewards = verified.rewards
  notes.isolation = verified.isolation
  notes.bothRewardFiles = verified.bothRewardFiles
  notes.system = verified.system ?? null
  if (verified.system?.differ) scene.log(`rewards differ: ${describeSystem(verified.system)}`)
}

async function agentTurn(
  scene: Play,
  { lease, network }: TestBench,
  round: Round,
  notes: RoundNotes,
): Promise<AgentExit> {
  const dir = agentDirOf(round)
  const { record, told } = makeRecorder(scene.log, {
    mark: (reply, mark) => scene.exchanges.mark(dir, reply, mark),
    refused: (call) => scene.exchanges.refused(dir, call),
  })
  notes.told = told
  await network.use(round.agent.network)
  await scene.announce('agent-start')
  try {
    const note = (span: Span) => {
      notes.agentExecution = span
    }
    return await timed(note, () => solve(scene, lease, round, record))
  } catch (error) {
    if (!scene.signal.aborted) await salvageAgentLogs(scene, lease, round)
    throw error
  } finally {
    const last = told()
    notes.told = () => last
  }
}

/** What an agent that failed wrote before is the best hint at why. */
async function salvageAgentLogs(scene: Scene, lease: SandboxLease, round: Round): Promise<void> {
  const frozen = await bestEffort('freeze after a failure', 120, scene, async () => {
    await freeze(scene, lease)
  })
  if (frozen) await saveAgentLogs(scene, lease, round)
}

/** Harbor keeps artefacts after the tests, which may add to them; also those of tests that failed. */
function inPlace(scene: Scene, bench: TestBench, round: Round, frozen: Frozen): Promise<Verified> {
  return verifyInPlace(scene, bench, round, frozen, async () => {
    if (!scene.signal.aborted) await saveArtifacts(scene, bench.lease, round)
  })
}

async function separately(scene: Scene, { lease }: TestBench, round: Round, frozen: Frozen): Promise<Verified> {
  for (const { command, timeoutSec, user } of round.verifier.collect) {
    await bestEffort('collect', timeoutSec + 30, scene, async (signal) => {
      const options = { timeoutSec, signal, ...(user !== undefined && { user }) }
      const { exitCode, stderr } = await lease.exec(['bash', '-c', command], options)
      if (exitCode !== 0) scene.log(`collect command exited with ${exitCode}: ${stderr.slice(0, 500)}`)
    })
  }
  const verified = await verifySeparately(scene, round, await saveArtifacts(scene, lease, round))
  const { restored } = frozen
  if (restored === null || restored.total === 0) return verified
  // What was collected came from the image's system; nothing else of the agent's reached the tests.
  return { ...verified, system: { restored, onImage: verified.rewards, differ: false } }
}

/** Runs work and tells when it started and, in any case, when it ended. */
export async function timed<T>(note: (span: Span) => void, work: () => Promise<T>): Promise<T> {
  const startedAt = utcNow()
  note({ startedAt, finishedAt: null })
  try {
    return await work()
  } finally {
    note({ startedAt, finishedAt: utcNow() })
  }
}
