import { BoundaryError } from '../../core/errors.ts'
import { brokenSystem, type FreezeOptions, type Frozen, type SandboxLease } from '../../core/sandbox.ts'
import { mayModifySystem } from '../../core/task.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { restoreArtifacts, type SavedArtifact } from './artifacts.ts'
import { atBoundary, releaseSandbox } from './boundary.ts'
import type { Round, TrialContext } from './context.ts'
import { verifierLimitSec } from './context.ts'
import { effectiveEnvironment, makePhaseNetwork } from './environment.ts'
import { isJudgedRound } from './judge-phase.ts'
import { startSandbox } from './start-sandbox.ts'
import { runTests, type TestBench } from './tests-run.ts'
import { describeChanges, settleSystems, type Verified } from './two-systems.ts'

/** How many times in all tests that run out of time are run. */
const tries = 2
const freezeSec = 120

/**
 * How a round's sandbox is frozen for its tests: on the image's system, unless the task or the job lets the agent
 * change it, so that no program of the agent's runs the tests. Between steps, what tests leave behind is dropped,
 * including copies of the tests.
 */
export function forTests(context: TrialContext, round: Round): FreezeOptions {
  const isAllowed = context.config.verifier.agentMayModifySystem === true || mayModifySystem(context.task)
  return { system: isAllowed ? 'agent' : 'image', scratch: round.step !== null }
}

/** A round whose sandbox was frozen, and the function that saves its files. */
interface InPlace {
  readonly round: Round
  readonly frozen: Frozen
  readonly saveFiles: () => Promise<void>
}

/**
 * Verifies in the agent's own sandbox, which is already frozen. If system files were restored, the tests run again on
 * the agent's: after the first run, because the agent's programs could read the tests. `saveFiles` is called when the
 * first run is over, whatever its outcome.
 */
export async function verifyInPlace(
  context: TrialContext,
  bench: TestBench,
  { round, frozen, saveFiles }: InPlace,
): Promise<Verified> {
  const how = forTests(context, round)
  const { restored } = frozen
  const isChanged = restored !== null && restored.total > 0
  if (isChanged)
    context.log(`restored system files that the agent changed, for the tests: ${describeChanges(restored)}`)
  const onImage = await resultOf(() => runInPlace(context, bench, { round, how, frozen })).finally(saveFiles)
  // A judge may answer differently when asked twice about the same.
  const isOnce = (context.secondRun === 'if-paid' && !pays(onImage)) || (await isJudgedRound(context, round))
  if (!isChanged || isOnce) {
    if (onImage instanceof BoundaryError) throw onImage
    return isChanged ? { ...onImage, system: { restored, onImage: onImage.rewards, differ: false } } : onImage
  }
  context.log('running the tests again, on the system as the agent left it')
  const again = { ...how, system: 'agent' as const }
  const onAgent = await resultOf(async () => {
    const left = await freeze(context, bench.lease, again)
    return runInPlace(context, bench, { round, how: again, frozen: left, logs: 'verifier/agent-system' })
  })
  return settleSystems(restored, onImage, onAgent)
}

/** If nothing was paid, a second run could only inform about the agent: the lower rewards count. */
function pays(onImage: Verified | BoundaryError): boolean {
  return !(onImage instanceof BoundaryError) && Object.values(onImage.rewards).some((reward) => reward > 0)
}

interface InPlaceRun {
  readonly round: Round
  readonly how: FreezeOptions
  readonly frozen: Frozen
  readonly logs?: string
}

async function runInPlace(
  context: TrialContext,
  bench: TestBench,
  { round, how, frozen, logs }: InPlaceRun,
): Promise<Verified> {
  let { isolation } = frozen
  return inTime(context, round, async (attempt) => {
    if (attempt > 1) isolation = (await freeze(context, bench.lease, how)).isolation
    const outcome = await runTests(context, bench, round, logs)
    return outcome === expired ? expired : { ...outcome, isolation }
  })
}

/** The result of the tests, including a failure: on one of two systems, that counts as a result. */
async function resultOf(work: () => Promise<Verified>): Promise<Verified | BoundaryError> {
  return work().catch((error: unknown) => {
    if (error instanceof BoundaryError && (error.boundary === 'verifier' || error.code === brokenSystem)) return error
    throw error
  })
}

/** Verifies in another sandbox that gets nothing of the agent's except the saved artifacts. */
export async function verifySeparately(
  context: TrialContext,
  round: Round,
  saved: readonly SavedArtifact[],
): Promise<Verified> {
  const environment = await effectiveEnvironment(
    round.verifier.environment ?? context.task.environment,
    context.config.environment,
  )
  return inTime(context, round, async () => {
    const lease = await startSandbox(context, environment)
    try {
      await atBoundary('sandbox', context.signal, () => restoreArtifacts(lease, saved, round.dir))
      const network = makePhaseNetwork(lease, environment.network, context.signal)
      const outcome = await runTests(context, { lease, network }, round)
      return outcome === expired ? expired : { ...outcome, isolation: 'separate' }
    } finally {
      await releaseSandbox(lease, context)
    }
  })
}

/** Kills everything in a sandbox, within a time limit even if the sandbox does not answer. */
export async function freeze(context: TrialContext, lease: SandboxLease, how: FreezeOptions = {}): Promise<Frozen> {
  const frozen = await atBoundary('sandbox', context.signal, () =>
    withDeadline(freezeSec, context.signal, async () => lease.freeze(how)),
  )
  if (frozen === expired) throw new BoundaryError('sandbox', `the sandbox did not freeze within ${freezeSec} s`)
  return frozen
}

type Attempt = (attempt: number) => Promise<Verified | typeof expired>

async function inTime(context: TrialContext, round: Round, verifyOnce: Attempt): Promise<Verified> {
  const limitSec = verifierLimitSec(round.verifier, context.config)
  for (let attempt = 1; attempt <= tries; attempt++) {
    const verified = await verifyOnce(attempt)
    if (verified !== expired) return verified
    context.log(`tests did not finish within ${limitSec} s (try ${attempt} of ${tries})`)
  }
  const code = 'VerifierTimeoutError'
  throw new BoundaryError('verifier', `the tests did not finish within ${limitSec} s, tried ${tries} times`, { code })
}
