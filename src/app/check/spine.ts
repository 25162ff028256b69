import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account, Spent } from '../../core/budget.ts'
import type { ModelSettings, OpinionSettings, PlugInChoice } from '../../core/stage.ts'
import type { Task } from '../../core/task.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { makeAgent, makeProvider, sandboxAlternatives } from '../../plugins/make.ts'
import { makeBudget } from '../../run/budget.ts'
import type { CheckRequest } from '../../run/check/check-request.ts'
import { networksOf } from '../../run/trial/environment.ts'
import { askConsent } from '../job/consent.ts'
import { refuseUnjudged } from '../job/judge.ts'
import { unlimitedUse } from '../job/model-use.ts'
import type { JobFollower } from '../job/perform-job.ts'
import type { Notify } from '../job/tasks-request.ts'

export interface SpineOptions {
  readonly sandbox: PlugInChoice
  /** The model that scores tasks that need a judge. */
  readonly judge?: ModelSettings | undefined
  /** The models for a second opinion on tasks that pass every other check. */
  readonly opinion?: OpinionSettings | undefined
  /** Variables of this machine that tasks may use. */
  readonly passEnv?: readonly string[] | undefined
  readonly repeats: number
  /** Starts nothing and asks no judge. */
  readonly lintOnly: boolean
  /** After the lints, only starts environments; asks no judge. */
  readonly startOnly?: boolean | undefined
  /** How often to repeat a start that failed for a reason outside the task. */
  readonly retries?: number | undefined
  /** False if no tests run, so that no judge is needed (default: true). */
  readonly verifies?: boolean
  /** Creates a permanent folder for the trials' files; without it they go to a temporary one. */
  readonly keepIn?: (() => Promise<string>) | undefined
}

/** What task checks need, and a folder for their trials. */
export interface Spine extends CheckRequest {
  readonly workDir: string
}

/** Sets up what task checks need, and cleans up after `use`. */
export async function withSpine<T>(
  tasks: readonly Task[],
  options: SpineOptions,
  { notify, signal, confirm }: Omit<JobFollower, 'watch'>,
  use: (spine: Spine) => Promise<T>,
): Promise<T> {
  const { repeats, lintOnly, startOnly, retries } = options
  const { name, options: sandboxOptions = {} } = options.sandbox
  const provider = await makeProvider(name, sandboxOptions)
  const testsNothing = lintOnly || startOnly === true
  const judging = testsNothing ? undefined : options.judge
  if (!lintOnly) {
    await askConsent(tasks, options, confirm)
    if (options.verifies !== false && !testsNothing) await refuseUnjudged(tasks, judging)
    await provider.preflight({ networks: networksOf(tasks) })
  }
  const kept = await options.keepIn?.()
  const workDir = kept ?? (await makeScratchDir(join(tmpdir(), 'ot-agent-check-')))
  const purse = makeBudget({ limits: unlimitedUse.budget, spentBefore: nothingSpent })
  try {
    const judge = judging && (await (await import('../job/open-judge.ts')).openJudge(judging, {}, signal))
    const opinion = testsNothing
      ? undefined
      : await openOpinionOf(options.opinion, signal, () => purse.account(null, 'judge'))
    return await use({
      provider,
      sandboxOptions,
      makeAgent,
      alternatives: sandboxAlternatives,
      hostEnv: process.env,
      judge: judge?.(purse.account(null, 'judge')),
      opinion,
      repeats,
      ...{ lintOnly, startOnly, retries },
      signal,
      workDir,
    })
  } finally {
    noteSpent(options.opinion ? 'judge, solver and reviewer' : 'judge', purse.spent(), notify)
    if (kept === undefined) await removeDraft(workDir)
  }
}

async function openOpinionOf(settings: OpinionSettings | undefined, signal: AbortSignal, account: () => Account) {
  if (!settings) return undefined
  const { openModel } = await import('../job/open-judge.ts')
  const { openOpinion } = await import('./open-opinion.ts')
  const flags = { model: '--second-opinion', apiBase: '--opinion-api-base' }
  return openOpinion(settings, async (model) => (await openModel(model, flags, {}, signal))(account()))
}

const nothingSpent: Spent = { costUsd: 0, tokens: 0, requests: 0, wallSec: 0 }

function noteSpent(who: string, { requests, tokens, costUsd }: Spent, notify: Notify): void {
  const cost = costUsd > 0 ? `, ${costUsd.toFixed(4)} USD` : ''
  if (requests > 0) notify(`${who}: ${requests} requests, ${tokens} tokens${cost}`)
}
