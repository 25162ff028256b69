import { BoundaryError } from '../../core/errors.ts'
import type { Isolation, SandboxLease } from '../../core/sandbox.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { restoreArtifacts, type SavedArtifact } from './artifacts.ts'
import { atBoundary } from './boundary.ts'
import { effectiveEnvironment } from './environment.ts'
import { giveBack } from './give-back.ts'
import { makePhaseNetwork } from './phase-network.ts'
import type { Round, Scene } from './scene.ts'
import { startSandbox } from './start-sandbox.ts'
import { runTests, type TestBench, type TestsOutcome } from './tests-run.ts'
import { verifierLimitSec } from './time-limits.ts'

export interface Verified extends TestsOutcome {
  readonly isolation: Isolation
}

/** Tests that ran out of time run this often in all. */
const tries = 2
const freezeSec = 120

/** Verifies in the agent's own sandbox, which was frozen once already: every process dead, no file of a verifier there. */
export async function verifyInPlace(
  scene: Scene,
  bench: TestBench,
  round: Round,
  frozen: Isolation,
): Promise<Verified> {
  let isolation = frozen
  return inTime(scene, round, async (attempt) => {
    if (attempt > 1) isolation = await freeze(scene, bench.lease)
    const outcome = await runTests(scene, bench, round)
    return outcome === expired ? expired : { ...outcome, isolation }
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
export async function freeze(scene: Scene, lease: SandboxLease): Promise<Isolation> {
  const isolation = await atBoundary('sandbox', scene.signal, () =>
    withDeadline(freezeSec, scene.signal, async () => lease.freeze()),
  )
  if (isolation === expired) throw new BoundaryError('sandbox', `the sandbox did not freeze within ${freezeSec} s`)
  return isolation
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
