import { randomBytes } from 'node:crypto'
import { constants as fs } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import { type RewardFiles, type Rewards, rewardMissing } from '../../core/rewards.ts'
import { type SandboxLease, storageLimit } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import { sandboxPaths, testScript, testsDir } from '../../core/task-paths.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { blockingDisk, isNear, patientDisk, remove, rename, statOrNull } from '../../lib/disk.ts'
import { codeOf, exists, isMissing } from '../../lib/files.ts'
import { isDiskFull } from '../exhausted.ts'
import { atBoundary, bestEffort, isGone, sandboxGone } from './boundary.ts'
import type { Round, TrialContext } from './context.ts'
import { verifierLimitSec } from './context.ts'
import type { PhaseNetwork } from './environment.ts'
import { settleRewards } from './judge-phase.ts'
import { missingHost } from './missing-network.ts'

export interface TestsOutcome {
  readonly rewards: Rewards
  readonly bothRewardFiles: boolean
}

/** A clean sandbox for the tests, and the switch for its network. */
export interface TestBench {
  readonly lease: SandboxLease
  readonly network: PhaseNetwork
}

const script = `${sandboxPaths.tests}/${testScript('linux')}`
const { verifierLogs } = sandboxPaths
const stdoutFile = `${verifierLogs}/test-stdout.txt`
const limitBytes = 256 * 1024 * 1024
const stdoutKeptBytes = 16 * 1024 * 1024

/**
 * Runs the task's tests once, as Harbor does, in a sandbox where the agent no longer runs. Their logs go to `logs`
 * below the round's directory.
 */
export async function runTests(
  context: TrialContext,
  bench: TestBench,
  round: Round,
  logs = 'verifier',
): Promise<TestsOutcome | typeof expired> {
  const outcome = await atBoundary('verifier', context.signal, () =>
    withDeadline(verifierLimitSec(round.verifier, context.config), context.signal, (signal) =>
      test(context, bench, { round, logs, signal }),
    ),
  ).catch(async (error: unknown) => {
    const ofTests = error instanceof BoundaryError && error.boundary === 'verifier' && !context.signal.aborted
    throw ofTests && (await isGone(context, bench.lease)) ? sandboxGone('while the tests ran', error) : error
  })
  if (outcome === expired)
    await bestEffort('verifier logs', 60, context, (signal) =>
      saveVerifierLogs(context, bench.lease, { round, logs, signal }),
    )
  return outcome
}

interface TestRun {
  readonly round: Round
  readonly logs: string
  readonly signal: AbortSignal
}

async function test(context: TrialContext, bench: TestBench, { round, logs, signal }: TestRun): Promise<TestsOutcome> {
  const { lease } = bench
  await atBoundary('sandbox', signal, () => uploadTests(context, lease, round, signal), { code: 'AddTestsDirError' })
  await bench.network.use(round.verifier.network)
  const command = `(${script}) > ${stdoutFile} 2>&1`
  const { exitCode, stderr } = await atBoundary('sandbox', signal, () =>
    lease.exec(['bash', '-c', command], {
      env: resolveEnv({ ...round.verifier.env, ...context.config.verifier.env }, context.hostEnv),
      ...(round.verifier.user !== undefined && { user: round.verifier.user }),
      signal,
    }),
  )
  // The tests' own output goes to their file; this is about why they could not even start.
  const reason = stderr.trim().slice(0, 500)
  context.log(`tests exited with ${exitCode}${reason && `: ${reason}`}`)
  // The time may be up even if this sandbox did not stop the command; then nothing below may run.
  signal.throwIfAborted()
  if (lease.storage?.full.aborted) throw outOfStorage(lease.storage.full)
  // If the sandbox is being killed, the tests may die first and the rest a moment later: a command that takes that long
  // will show it.
  if (exitCode === 128 + constants.signals.SIGKILL)
    await atBoundary('sandbox', signal, () => lease.exec(['sleep', '0.1'], { user: 'root', timeoutSec: 30, signal }))
  await atBoundary('sandbox', signal, () => saveVerifierLogs(context, lease, { round, logs, signal }), {
    code: 'DownloadVerifierDirError',
  })
  // Whatever the tests wrote before their sandbox was taken away is not a verdict.
  if (await isGone(context, lease)) throw sandboxGone('while the tests ran')
  const files = await readRewardFiles(join(round.dir, logs))
  const settled = await settleRewards(context, round, files, signal).catch((error: unknown) => {
    if (error instanceof BoundaryError && error.code === rewardMissing) return error
    throw error
  })
  const rewards = await orMissingNetwork(settled, context, round, logs)
  return { rewards, bothRewardFiles: files.txt !== null && files.json !== null }
}

/**
 * Tests that could not be set up for lack of network give no verdict, although many of them then write a reward of 0.
 */
async function orMissingNetwork(
  settled: Rewards | BoundaryError,
  { task }: TrialContext,
  round: Round,
  logs: string,
): Promise<Rewards> {
  const isNothing = settled instanceof BoundaryError || Object.values(settled).every((reward) => reward === 0)
  const host = isNothing ? await missingHost(join(round.dir, logs), testsDirsOf(task, round)) : null
  if (host !== null) {
    const { network, environment = task.environment } = round.verifier
    const isClosed = (network ?? environment.network).mode !== 'public'
    throw new BoundaryError('verifier', `the tests could not reach ${host} and did not start, so there is no verdict`, {
      ...{ code: 'VerifierNetworkError', retryable: !isClosed },
    })
  }
  if (settled instanceof BoundaryError) throw settled
  return settled
}

function testsDirsOf(task: Task, round: Round): string[] {
  return [task.dir, ...(round.step ? [round.step.dir] : [])].map(testsDir)
}

/** As with tests that run out of time: what they wrote before they were stopped is not a verdict. */
function outOfStorage({ reason }: AbortSignal): BoundaryError {
  const options = { code: storageLimit, retryable: false }
  return new BoundaryError('verifier', `the tests were stopped: ${messageOf(reason)}`, options)
}

/**
 * Uploads the task's tests, then the step's own over them; neither if the image of a separate verifier contains the
 * script itself.
 */
async function uploadTests(
  context: TrialContext,
  lease: SandboxLease,
  round: Round,
  signal: AbortSignal,
): Promise<void> {
  const dirs = testsDirsOf(context.task, round)
  const scripts = await Promise.all(dirs.map((dir) => statOrNull(join(dir, testScript('linux')))))
  const winner = scripts.findLast((found) => found !== null)
  if (!winner) return
  for (const dir of dirs) if (await exists(dir)) await lease.uploadDir(dir, sandboxPaths.tests)
  if ((winner.mode & 0o111) === 0o111) return
  const made = await lease.exec(['chmod', '+x', script], { user: 'root', signal, timeoutSec: 60 })
  if (made.exitCode !== 0) throw new BoundaryError('task', `${script} cannot run: ${made.stderr.trim()}`)
}

/**
 * Downloads `/logs/verifier`. Tests that print without end, or run a program that does, lose the rest of their output,
 * but not their rewards. If it still cannot be downloaded, the tests made it so and are blamed.
 */
async function saveVerifierLogs(
  context: TrialContext,
  lease: SandboxLease,
  { round, logs, signal }: TestRun,
): Promise<void> {
  const target = join(round.dir, logs)
  const download = async () => {
    // An abandoned download may continue for a while: in its own place it cannot mix with the next one.
    const incoming = join(round.dir, `.verifier-${randomBytes(4).toString('hex')}`)
    try {
      await lease.downloadDir(verifierLogs, incoming, { limitBytes })
      signal.throwIfAborted()
      await remove(target)
      await rename(incoming, target)
    } finally {
      await remove(incoming)
    }
  }
  try {
    await download()
  } catch (error) {
    if (!(error instanceof BoundaryError) || error.retryable || isDiskFull(error)) throw error
    const options = { code: 'DownloadVerifierDirError', retryable: false, cause: error }
    if (!(await shortenStdout(lease))) throw new BoundaryError('verifier', error.message, options)
    context.log(`${stdoutFile} was cut to its first ${stdoutKeptBytes} bytes: ${error.message}`)
    await download().catch((again: unknown) => {
      throw new BoundaryError('verifier', messageOf(again), options)
    })
  }
}

/** Returns whether there was anything to shorten. */
async function shortenStdout(lease: SandboxLease): Promise<boolean> {
  const cut = '[ "$(wc -c < "$1")" -gt "$2" ] && truncate -s "$2" "$1"'
  const argv = ['sh', '-c', cut, 'sh', stdoutFile, String(stdoutKeptBytes)]
  return (await lease.exec(argv, { user: 'root', cwd: '/', timeoutSec: 60 })).exitCode === 0
}

const rewardLimitBytes = 1024 * 1024

/** Reads the reward files of a downloaded `/logs/verifier`: only regular files, never through a link, never a huge one. */
export async function readRewardFiles(verifierDir: string): Promise<RewardFiles> {
  const [txt, json] = await Promise.all(['reward.txt', 'reward.json'].map((name) => readSmallFile(verifierDir, name)))
  return { txt: txt ?? null, json: json ?? null }
}

async function readSmallFile(dir: string, name: string): Promise<string | null> {
  const disk = isNear(join(dir, name)) ? blockingDisk : patientDisk
  let file: number
  try {
    file = await disk.open(join(dir, name), fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error)) return null
    if (codeOf(error) === 'ELOOP') throw refused(name, 'a link')
    throw error
  }
  try {
    const stats = await disk.fstat(file)
    if (!stats.isFile()) throw refused(name, 'not a regular file')
    if (stats.size > rewardLimitBytes) throw refused(name, `${stats.size} bytes, more than ${rewardLimitBytes}`)
    const bytes = Buffer.alloc(stats.size)
    let count = 0
    for (let more = -1; more !== 0 && count < bytes.length; count += more) {
      more = await disk.read(file, bytes.subarray(count))
    }
    return bytes.toString('utf8', 0, count)
  } finally {
    await disk.close(file)
  }
}

function refused(name: string, why: string): BoundaryError {
  return new BoundaryError('verifier', `/logs/verifier/${name} is ${why}`, {
    code: 'VerifierOutputParseError',
    retryable: false,
  })
}
