import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from '../../core/budget.ts'
import { UserError } from '../../core/errors.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import type { CheckedTask, ModelSettings, SpineRequest, StageServices } from '../../core/stage.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { makeProvider } from '../../plugins/make.ts'
import { isModulePath } from '../../plugins/user-modules/import-path.ts'
import { makeBudget } from '../../run/budget.ts'
import { ledgerFile } from '../../store/job-dir.ts'
import { openLedger } from '../../store/ledger.ts'
import { openOpinion } from '../check/open-opinion.ts'
import { makeProver } from '../generate/prove-tasks.ts'
import { judgeHint, refuseUnjudged, renderJudge } from '../job/judge.ts'
import { unlimitedUse } from '../job/model-use.ts'
import { judgeBy, openJudge } from '../job/open-judge.ts'
import { budgetLeft } from './budget-left.ts'
import type { RolloutAsk } from './roll-out.ts'

/** Connects to a model whose calls are charged to an account. */
type Reach = (settings: ModelSettings, signal: AbortSignal, account: Account) => Promise<ModelClient>

/** Runs tasks through the verification spine, and books their judge's usage as a recipe's jobs do. */
export function checkTasksWith(
  reach: Reach,
  { passEnv, standInJudge }: Pick<RolloutAsk, 'passEnv' | 'standInJudge'> = {},
): StageServices['check'] {
  return async function* (dirs, request) {
    const { sandbox, concurrency, startOnly, retries, signal } = request
    const options = sandbox.options ?? {}
    const provider = await makeProvider(sandbox.name, options)
    await provider.preflight()
    const books = await openBooks(request, reach, standInJudge)
    const workDir = await makeScratchDir(join(tmpdir(), 'ot-agent-check-'))
    try {
      const { judge, opinion } = books
      const prove = await makeProver({
        provider,
        sandboxOptions: options,
        repeats: 2,
        startOnly,
        retries,
        judge,
        opinion,
        passEnv,
        workDir,
        signal,
      })
      let done = 0
      yield* mapInOrder(dirs, concurrency, async (dir): Promise<CheckedTask> => {
        const task = await loadTask(dir)
        if (!startOnly) await refuseUnjudged([task], judge, judgeHint)
        const { verdict, reason, detail } = await prove(task)
        // A result left unjudged because the budget ran out says nothing about the task.
        if (verdict === 'unknown' && books.isSpent()) throw spentUp(request, done, dirs.length)
        done++
        return verdict === 'accepted' ? { dir, reason: null } : { dir, reason, detail }
      })
    } finally {
      await books.close()
      await removeDraft(workDir)
    }
  }
}

/** The models that judge tasks and give a second opinion, with their budget. */
async function openBooks(request: SpineRequest, reach: Reach, standInJudge?: Judge) {
  const { booksDir, budgetUsd, judge: settings, opinion: opining, signal, tell } = request
  if (!settings && !opining)
    return { judge: undefined, opinion: undefined, isSpent: () => false, close: async () => {} }
  const limits = { ...unlimitedUse.budget, costUsd: (await budgetLeft(budgetUsd, booksDir)) ?? null }
  const ledger = await openLedger(ledgerFile(booksDir))
  const budget = makeBudget({ limits, spentBefore: ledger.spent(), book: ledger.add })
  const close = async () => {
    const total = ledger.total()
    if (total.requests > 0) tell?.(renderJudge(total))
    await ledger.close()
  }
  try {
    const client = (model: ModelSettings) => reach(model, signal, budget.account(null, 'judge'))
    const instead = standInJudge ?? (settings && isModulePath(settings.model) ? settings : undefined)
    const own = settings && instead && (await openJudge(instead, {}, signal))
    const judge = own?.() ?? (settings && judgeBy(await client(settings)))
    const opinion = opining && (await openOpinion(opining, client))
    return { judge, opinion, isSpent: () => budget.spentUp() !== null, close }
  } catch (error) {
    await close()
    throw error
  }
}

function spentUp({ budgetUsd }: SpineRequest, done: number, all: number): UserError {
  return new UserError(
    `the budget of ${budgetUsd} USD was used up after ${done} of ${all} tasks`,
    'raise budgetUsd and run the recipe again: the verdicts so far are kept',
  )
}
