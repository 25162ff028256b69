import { resolve } from 'node:path'
import type { AgentConfig, DatasetConfig, JobConfig } from '../../core/job.ts'
import { unresumableSecrets } from '../../core/redact.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { renderJobConfig } from '../../formats/harbor-job/job-config.ts'
import { pluginContext } from '../../plugins/make.ts'
import { absoluteImportPath } from '../../plugins/user-modules/import-path.ts'
import { fingerprintsIn } from '../../run/job/identity.ts'
import { openJob } from '../../run/job/open-job.ts'
import type { FetchAt } from '../datasets/benchmark-tasks.ts'
import { absoluteEngine, importDigests } from './configured.ts'
import { jobConfigOf, type RequestedJob } from './job-config.ts'
import { checkJobsDir } from './jobs-dir.ts'
import { modelUseOf } from './model-use.ts'
import type { JobToRun } from './perform-job.ts'
import { type ResolvedTasks, resolveTasks } from './resolve-tasks.ts'
import type { Notify, TasksRequest } from './tasks-request.ts'

/** A job whose settings are known and whose tasks are found. */
export interface PlannedJob extends RequestedJob, ResolvedTasks {}

/** Reads the settings and tasks of a request. Writes nothing, except tasks that it is allowed to fetch. */
export async function planJob(
  request: TasksRequest,
  notify: Notify,
  signal = new AbortController().signal,
): Promise<PlannedJob> {
  const requested = await jobConfigOf(request, notify)
  const at = { fetch: request.fetch ?? false, notify, signal }
  const config = await located(absolute(requested.config), at)
  const jobDir = requested.named ? resolve(config.jobsDir, config.jobName) : null
  return { ...requested, config, ...(await resolveTasks(config, at, { share: request.share, jobDir })) }
}

/** The job file equivalent to a planned job, without secrets. */
export function configTextOf({ config }: PlannedJob): string {
  return renderJobConfig(config)
}

/** Makes a planned job ready to run. `invocation` is the command line recorded in its lock. */
export async function prepareJob(
  { config, named, adaptive, tasks, loadTasks }: PlannedJob,
  request: TasksRequest,
  { notify, invocation }: { readonly notify: Notify; readonly invocation: readonly string[] },
): Promise<JobToRun> {
  await checkJobsDir(config.jobsDir)
  const imports = await importDigests(config)
  const fingerprint = fingerprintsIn(pluginContext().stateDir)
  const layout = request.layout ?? null
  const takesFinished = request.resumeFinished ?? false
  const toOpen = { config, fingerprint, named, tasks, imports, layout, invocation, takesFinished }
  const open: JobToRun['open'] = async (check) => {
    const opened = await openJob(toOpen, check)
    noteHidden(config, notify)
    return opened
  }
  const consent = { passEnv: request.passEnv, yes: request.passAllEnv }
  const { prefetch, restartInterrupted } = request
  const again = request.retryUnscored ? isUnscored : undefined
  const use = modelUseOf(request, adaptive)
  return { config, loadTasks, consent, use, prefetch, open, restartInterrupted, ...(again && { again }) }
}

/** True for a trial that another try may score. */
function isUnscored({ end }: TrialRecord): boolean {
  return end.kind === 'cancelled' || (end.kind === 'failed' && end.failure.retryable)
}

function noteHidden(config: JobConfig, notify: Notify): void {
  const hidden = unresumableSecrets(config, process.env)
  if (hidden.length > 0)
    notify(
      `${hidden.join(', ')}: literal values are not written to the job's files, so jobs resume will ask for them again (write them as \${VARIABLE} to have them read from the environment)`,
    )
}

async function located(config: JobConfig, at: FetchAt): Promise<JobConfig> {
  const datasets: DatasetConfig[] = []
  for (const dataset of config.datasets) {
    const isNamed = dataset.name !== null
    datasets.push(isNamed ? await (await import('../datasets/dataset-folder.ts')).locateDataset(dataset, at) : dataset)
  }
  return { ...config, datasets }
}

/** Makes paths absolute: a job must be found and resumed from any directory. */
function absolute(config: JobConfig): JobConfig {
  const whole = <T extends { readonly path: string | null }>(part: T): T =>
    part.path === null ? part : { ...part, path: resolve(part.path) }
  const served = (agent: AgentConfig): AgentConfig => ({ ...agent, kwargs: absoluteEngine(agent.kwargs) })
  const imported = <T extends { readonly importPath: string | null }>(part: T): T =>
    part.importPath === null ? part : { ...part, importPath: absoluteImportPath(part.importPath) }
  return {
    ...config,
    jobsDir: resolve(config.jobsDir),
    agents: config.agents.map(imported).map(served),
    environment: imported(config.environment),
    tasks: config.tasks.map((task) => (task.gitUrl === null ? whole(task) : task)),
    datasets: config.datasets.map(whole),
  }
}
