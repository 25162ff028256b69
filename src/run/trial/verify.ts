import { BoundaryError } from '../../core/errors.ts'
import { brokenSystem, type FreezeOptions, type Frozen, type SandboxLease } from '../../core/sandbox.ts'
import { mayModifySystem } from '../../core/task.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { restoreArtifacts, type SavedArtifact } from './artifacts.ts'
import { atBoundary } from './boundary.ts'
import { effectiveEnvironment } from './environment.ts'
import { giveBack } from './give-back.ts'
import { isJudgedRound } from './judge-phase.ts'
import { makePhaseNetwork } from './phase-network.ts'
import type { Round, Scene } from './scene.ts'
import { startSandbox } from './start-sandbox.ts'
import { runTests, type TestBench } from './tests-run.ts'
import { verifierLimitSec } from './time-limits.ts'
import { describeChanges, settleSystems, type Verified } from './two-systems.ts'

/** Tests that ran out of time run this often in all. */
const tries = 2
const freezeSec = 120

/**
 * How a round's sandbox is frozen for its tests: on the image's system unless the task or the job lets the agent change it, so that no
 * program of the agent's runs them. Between steps, what tests leave is dropped, and with it copies of the tests.
 */
export function forTests(scene: Scene, round: Round): FreezeOptions {
  const isAllowed = scene.config.verifier.agentMayModifySystem === true || mayModifySystem(scene.task)
  return { system: isAllowed ? 'agent' : 'image', scratch: round.step !== null }
}

/**
 * Verifies in the agent's own sandbox, which was frozen for it already. Where system files were put back, the tests run once
 * more on the agent's: after the first run, because programs of the agent's could read the tests. `saveFiles` is called when
 * the first run is over, whatever came of it.
 */
export async function verifyInPlace(
  scene: Scene,
  bench: TestBench,
  round: Round,
  frozen: Frozen,
  saveFiles: () => Promise<void>,
): Promise<Verified> {
  const how = forTests(scene, round)
  const { restored } = frozen
  const isChanged = restored !== null && restored.total > 0
  if (isChanged)
    scene.log(`system files that the agent changed are put back for the tests: ${describeChanges(restored)}`)
  const onImage = await resultOf(() => runInPlace(scene, bench, round, how, frozen)).finally(saveFiles)
  // A judge may say something else when asked twice about the same.
  const isOnce = (scene.secondRun === 'if-paid' && !pays(onImage)) || (await isJudgedRound(scene, round))
  if (!isChanged || isOnce) {
    if (onImage instanceof BoundaryError) throw onImage
    return isChanged ? { ...onImage, system: { restored, onImage: onImage.rewards, differ: false } } : onImage
  }
  scene.log('the tests run again, on the system as the agent left it')
  const again = { ...how, system: 'agent' as const }
  const onAgent = await resultOf(async () => {
    const left = await freeze(scene, bench.lease, again)
    return runInPlace(scene, bench, round, again, left, 'verifier/agent-system')
  })
  return settleSystems(restored, onImage, onAgent)
}

/** Where nothing was paid, a second run can only tell more about the agent: the lower rewards count. */
function pays(onImage: Verified | BoundaryError): boolean {
  return !(onImage instanceof BoundaryError) && Object.values(onImage.rewards).some((reward) => reward > 0)
}

async function runInPlace(
  scene: Scene,
  bench: TestBench,
  round: Round,
  how: FreezeOptions,
  frozen: Frozen,
  logs?: string,
): Promise<Verified> {
  let { isolation } = frozen
  return inTime(scene, round, async (attempt) => {
    if (attempt > 1) isolation = (await freeze(scene, bench.lease, how)).isolation
    const outcome = await runTests(scene, bench, round, logs)
    return outcome === expired ? expired : { ...outcome, isolation }
  })
}

/** What tests came to, also when they came to nothing: on one of two systems that is a result. */
async function resultOf(work: () => Promise<Verified>): Promise<Verified | BoundaryError> {
  return work().catch((error: unknown) => {
    if (error instanceof BoundaryError && (error.boundary === 'verifier' || error.code === brokenSystem)) return error
    throw error
  })
}

/** Verifies in another sandbox that gets nothing of the agent's but the saved artefacts. */
export async function verifySeparately(scene: Scene, round: Round, saved: readonly SavedArtifact[]): Promise<Verified> {
  const environment = await effectiveEnvironment(
    round.verifier.environment ?? scene.task.environment,
    scene.config.environment,
  )
  return inTime(scene, round, async () => {
    const lease = await startSandbox(scene, environment)
    try {
      await atBoundary('sandbox', scene.signal, () => restoreArtifacts(lease, saved, round.dir))
      const network = makePhaseNetwork(lease, environment.network, scene.signal)
      const outcome = await runTests(scene, { lease, network }, round)
      return outcome === expired ? expired : { ...outcome, isolation: 'separate' }
    } finally {
      await giveBack(lease, scene)
    }
  })
}

/** Kills everything in a sandbox, bounded even if the sandbox does not answer. */
export async function freeze(scene: Scene, lease: SandboxLease, how: FreezeOptions = {}): Promise<Frozen> {
  const frozen = await atBoundary('sandbox', scene.signal, () =>
    withDeadline(freezeSec, scene.signal, async () => lease.freeze(how)),
  )
  if (frozen === expired) throw new BoundaryError('sandbox', `the sandbox did not freeze within ${freezeSec} s`)
  return frozen
}

type Attempt = (attempt: number) => Promise<Verified | typeof expired>

async function inTime(scene: Scene, round: Round, verifyOnce: Attempt): Promise<Verified> {
  const limitSec = verifierLimitSec(round.verifier, scene.config)
  for (let attempt = 1; attempt <= tries; attempt++) {
    const verified = await verifyOnce(attempt)
    if (verified !== expired) return verified
    scene.log(`tests did not finish within ${limitSec} s (try ${attempt} of ${tries})`)
  }
  const code = 'VerifierTimeoutError'
  throw new BoundaryError('verifier', `the tests did not finish within ${limitSec} s, tried ${tries} times`, { code })
}
