import type { AdaptiveConcurrency } from '../../core/concurrency.ts'
import type { AgentConfig } from '../../core/job.ts'
import type { Judge } from '../../core/judge.ts'
import type { Engine, ModelClient } from '../../core/model.ts'
import { observed } from '../../core/model-replies.ts'
import { makeHttpClient } from '../../lib/http-client.ts'
import { makeBudget } from '../../run/budget.ts'
import { type AdaptiveLimit, makeAdaptiveLimit } from '../../run/concurrency/adaptive-limit.ts'
// Trials load the code that records their calls; importing it here loads it before the first trial starts.
import '../../store/exchange-files.ts'
import { ledgerFile } from '../../store/job-dir.ts'
import { judgeSums, openLedger, type Sums } from '../../store/ledger.ts'
import type { ModelUse } from './model-use.ts'
import type { OpenedJudge } from './open-judge.ts'
import type { Notify } from './tasks-request.ts'

/** The models of a job's agents, connected and with an account. */
export interface JobModels {
  /** A client for one trial of an agent; null if its model is not served, or it has none. */
  clientFor(agent: AgentConfig, trial: string): ModelClient | null
  /** A judge for one trial; present only if one was named. */
  readonly judgeFor?: ((trial: string) => Judge) | undefined
  /** False once a budget is spent: running trials may finish, new ones do not start. */
  mayStart(): boolean
  /** Adjusts the number of concurrent trials while they run; present only if requested. */
  readonly pace?: (resize: (count: number) => void, signal: AbortSignal) => Promise<void>
  /** The judge's usage in this job, known once it is closed; null if no judge was asked. */
  judgeSums(): Promise<Sums | null>
  close(): Promise<void>
}

/** A model that is served. */
export interface ReachedModel {
  readonly engine: Engine
  readonly model: string
}

export interface ModelsToOpen {
  readonly models: readonly ReachedModel[]
  /** The model of an agent; null when it has none. */
  modelOf(agent: AgentConfig): ReachedModel | null
  readonly judge: OpenedJudge | undefined
  /** Its ledger holds what earlier runs spent. */
  readonly jobDir: string
  readonly nConcurrent: number
  readonly use: ModelUse
  readonly notify: Notify
}

/** Opens a job's ledger and makes clients whose calls are charged to its budget. */
export async function openModels(asked: ModelsToOpen): Promise<JobModels> {
  const { models, modelOf, judge, jobDir, nConcurrent, use, notify } = asked
  const ledger = await openLedger(ledgerFile(jobDir))
  const onSpent = (budget: string) =>
    notify(
      `the budget of ${budget} is used up: running trials stop and no new ones start; run the same command with a larger budget to resume`,
    )
  const budget = makeBudget({ limits: use.budget, spentBefore: ledger.spent(), book: ledger.add, onSpent })
  const pacing =
    use.adaptive === null
      ? null
      : makePacing(
          use.adaptive,
          models.map(({ engine }) => engine),
          { nConcurrent, notify },
        )
  return {
    clientFor: (agent, trial) => {
      const reached = modelOf(agent)
      if (reached === null) return null
      const client = reached.engine.client(reached.model, budget.account(trial))
      return pacing ? pacing.watch(client) : client
    },
    ...(judge && { judgeFor: (trial: string) => judge(budget.account(trial, 'judge')) }),
    mayStart: () => budget.spentUp() === null,
    ...(pacing && { pace: pacing.run }),
    judgeSums: () => judgeSums(jobDir),
    close: () => ledger.close(),
  }
}

/** Follows the load of the first engine whose servers report it, or reply times if none does. */
function makePacing(
  settings: AdaptiveConcurrency,
  engines: readonly Engine[],
  { nConcurrent, notify }: { readonly nConcurrent: number; readonly notify: Notify },
) {
  const shown = engines.map(({ endpoint }) => endpoint?.metricsUrls ?? []).find((urls) => urls.length > 0)
  const metricsUrls = settings.metricsUrls.length > 0 ? settings.metricsUrls : (shown ?? [])
  let calls = 0
  let limit: AdaptiveLimit | null = null
  return {
    watch: (client: ModelClient): ModelClient => {
      const began = () => {
        calls++
      }
      const ended = (latencyMs: number | null, outputTokens: number) => {
        calls--
        if (latencyMs !== null) limit?.observe(latencyMs, outputTokens)
      }
      return observed(client, { began, ended })
    },
    run: async (resize: (count: number) => void, signal: AbortSignal): Promise<void> => {
      const onLimit = (count: number) => {
        notify(`now running ${count} trials at a time`)
        resize(count)
      }
      const parts = { start: nConcurrent, http: makeHttpClient(process.env), inFlight: () => calls, onLimit }
      limit = makeAdaptiveLimit({ settings: { ...settings, metricsUrls }, ...parts })
      resize(limit.limit)
      await limit.run(signal)
    },
  }
}
