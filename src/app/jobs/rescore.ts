import type { ModelSettings } from '../../core/stage.ts'
import { sandboxAlternatives } from '../../plugins/make.ts'
import { type Rescored, rescoreJob } from '../../run/rescore.ts'
import { networksOf } from '../../run/trial/environment.ts'
import { providerOf } from '../job/configured.ts'
import { askConsent, type Confirm } from '../job/consent.ts'
import type { GivenAgain } from '../job/hidden-values.ts'
import { refuseUnjudged } from '../job/judge.ts'
import { unlimitedUse } from '../job/model-use.ts'
import { findModels } from '../job/models.ts'
import { loadStoredJob } from '../job/stored-job.ts'
import type { Notify } from '../job/tasks-request.ts'

export type { Rescored } from '../../run/rescore.ts'

/** Which job to rescore, and how. */
export interface RescoreRequest {
  readonly job: string
  /** Includes trials whose tests share the agent's sandbox. */
  readonly artifactsSuffice: boolean
  readonly concurrency: number
  readonly judge?: ModelSettings | undefined
  /** Values that the job's files do not hold. */
  readonly hidden: GivenAgain
}

/** Reruns the tests of finished trials on what they kept, and reports each trial's outcome. */
export async function rescore(
  { job, artifactsSuffice, concurrency: nConcurrent, judge, hidden }: RescoreRequest,
  { notify, signal, confirm }: { notify: Notify; signal: AbortSignal; confirm?: Confirm | undefined },
): Promise<ReadonlyMap<string, Rescored>> {
  const { there, config, loadTasks, consent, changes } = await loadStoredJob(job, {}, hidden)
  const tasks = (await loadTasks()).map(({ task }) => task)
  for (const change of changes) notify(`${change}; rescoring with its current tests`)
  await askConsent(tasks, consent, confirm)
  await refuseUnjudged(tasks, judge)
  const provider = await providerOf(config.environment)
  await provider.preflight({ networks: networksOf(tasks) })
  // Agents are not run again, so only the judge needs a model.
  const served = await findModels({ ...config, agents: [] }, { use: { ...unlimitedUse, judge }, notify, signal })
  const models = await served.open(there.dir, nConcurrent)
  return rescoreJob({
    ...{ there, config, tasks, provider, signal, artifactsSuffice, nConcurrent },
    hostEnv: process.env,
    alternatives: sandboxAlternatives,
    judgeFor: models.judgeFor,
  }).finally(models.close)
}
