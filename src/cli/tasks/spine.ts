import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Spent } from '../../core/budget.ts'
import type { Task } from '../../core/task.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { makeAgent, makeProvider, sandboxAlternatives } from '../../plugins/make.ts'
import { makeBudget } from '../../run/budget.ts'
import type { CheckRequest } from '../../run/check/check-task.ts'
import { networksOf } from '../../run/trial/environment.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { askConsent } from '../run/consent.ts'
import { type JudgeOptions, judgeSettingsOf, openJudge, refuseUnjudged } from '../run/judging.ts'
import { freeUse } from '../run/model-options.ts'
import { parsedAssignments } from '../run/values.ts'

export interface SpineOptions extends JudgeOptions {
  readonly environment: string
  readonly environmentKwarg: readonly string[]
  /** Variables of this machine that tasks may have. */
  readonly passEnv: readonly string[]
  readonly repeats: number
  /** Starts nothing and asks no judge. */
  readonly lintOnly: boolean
  /** Makes the folder for the trials' files, which then stays; a temporary one without it. */
  readonly keepIn?: (() => Promise<string>) | undefined
}

/** What checks of tasks need, and a folder for their trials. */
export interface Spine extends CheckRequest {
  readonly workDir: string
}

/** Makes what checks of tasks need, lends it, and clears up; Ctrl-C aborts its signal. */
export async function withSpine<T>(
  tasks: readonly Task[],
  options: SpineOptions,
  use: (spine: Spine) => Promise<T>,
): Promise<T> {
  const { repeats, lintOnly } = options
  const sandboxOptions = parsedAssignments('--ek', options.environmentKwarg)
  const provider = await makeProvider(options.environment, sandboxOptions)
  const judging = judgeSettingsOf(options)
  if (!lintOnly) {
    await askConsent(tasks, options)
    await refuseUnjudged(tasks, judging)
    await provider.preflight({ networks: networksOf(tasks) })
  }
  const kept = await options.keepIn?.()
  const workDir = kept ?? (await makeScratchDir(join(tmpdir(), 'ot-agent-check-')))
  const interrupt = interruptSignal()
  const purse = makeBudget({ limits: freeUse.budget, spentBefore: nothingSpent })
  try {
    const judge = await openJudge(lintOnly ? undefined : judging, {}, interrupt.signal)
    return await use({
      provider,
      sandboxOptions,
      makeAgent,
      alternatives: await sandboxAlternatives(),
      hostEnv: process.env,
      judge: judge?.(purse.account(null, 'judge')),
      repeats,
      lintOnly,
      signal: interrupt.signal,
      workDir,
    })
  } finally {
    interrupt.stop()
    tellSpent(purse.spent())
    if (kept === undefined) await removeDraft(workDir)
  }
}

const nothingSpent: Spent = { costUsd: 0, tokens: 0, requests: 0, wallSec: 0 }

function tellSpent({ requests, tokens, costUsd }: Spent): void {
  const cost = costUsd > 0 ? `, ${costUsd.toFixed(4)} USD` : ''
  if (requests > 0) note(`judge: ${requests} requests, ${tokens} tokens${cost}`)
}
