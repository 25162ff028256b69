import { basename, dirname } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { EnvironmentConfig, JobConfig } from '../../core/job.ts'
import { differences, identityOf, parseIdentity } from '../../run/job/identity.ts'
import { continueJob } from '../../run/job/open-job.ts'
import { type JobDir, loadJobDir } from '../../store/job-dir.ts'
import { importDigests } from './configured.ts'
import type { Consent } from './consent.ts'
import { type GivenAgain, withValuesGivenAgain } from './hidden-values.ts'
import type { JobToRun } from './perform-job.ts'
import { type ResolvedTasks, resolveTasks } from './resolve-tasks.ts'
import { requestedPlugin } from './tasks-request.ts'

export interface StoredJob extends ResolvedTasks {
  readonly there: JobDir
  readonly config: JobConfig
  /** Which variables of this machine they may use. */
  readonly consent: Consent
  /** How the tasks differ from those the job started with. */
  readonly changes: readonly string[]
  /** Whether a different kind of sandbox was requested. */
  readonly isMoved: boolean
}

/** Loads a job from its own directory, and finds its tasks again. */
export async function loadStoredJob(
  path: string,
  settings: Partial<JobConfig> = {},
  given: GivenAgain = {},
): Promise<StoredJob> {
  const there = await loadJobDir(path)
  const filled = withValuesGivenAgain(there, given)
  const config = {
    ...filled,
    ...settings,
    environment: inSandbox(filled.environment, given),
    jobName: basename(there.dir),
    jobsDir: dirname(there.dir),
  }
  const resolved = await resolveTasks(config, undefined, { jobDir: there.dir })
  const before = there.own && parseIdentity(there.own.identity)
  const now = identityOf(
    config,
    resolved.tasks.map(({ task }) => task),
  )
  const changes = before ? differences(before, { ...before, tasks: now.tasks }) : []
  const consent = { passEnv: given.passEnv }
  return { there, config, ...resolved, consent, changes, isMoved: given.sandbox !== undefined }
}

function inSandbox(environment: EnvironmentConfig, { sandbox, sandboxOptions = {} }: GivenAgain): EnvironmentConfig {
  if (sandbox === undefined) return { ...environment, kwargs: { ...environment.kwargs, ...sandboxOptions } }
  const { name: type, importPath } = requestedPlugin(sandbox)
  return { ...environment, type, importPath, kwargs: sandboxOptions }
}

/** Makes a stored job runnable under its own name; refused if its tasks or its agents' code have changed. */
export async function continuing({ there, changes: taskChanges, ...stored }: StoredJob): Promise<JobToRun> {
  const { config, tasks, loadTasks, consent } = stored
  if (stored.isMoved && there.own !== null)
    throw new UserError(
      `${there.dir}: expected the job's own kind of sandbox, got another`,
      'remove -e, or run the tasks as a new job; only jobs that Harbor started can use another kind of sandbox',
    )
  const before = there.own && parseIdentity(there.own.identity)
  const imports = await importDigests(config)
  const changes = [...taskChanges, ...(before ? differences(before, { ...before, imports }) : [])]
  if (changes.length > 0) {
    throw new UserError(
      `${there.dir}: expected the job's own tasks and agents, found others: ${changes.slice(0, 5).join('; ')}`,
      'restore them, or run them as a new job',
    )
  }
  const job = { config, named: true, tasks, layout: there.layout, invocation: [] }
  return { config, loadTasks, consent, open: () => continueJob(job, there) }
}
