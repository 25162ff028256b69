import { basename, dirname } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import { differences, identityOf, parseIdentity } from '../../run/job/identity.ts'
import { continueJob } from '../../run/job/open-job.ts'
import type { JobTask } from '../../run/job/plan.ts'
import { type JobDir, loadJobDir } from '../../store/job-dir.ts'
import { importDigests } from './configured.ts'
import { resolveTasks } from './resolve-tasks.ts'
import type { JobToRun } from './run-asked-job.ts'

export interface StoredJob {
  readonly there: JobDir
  readonly config: JobConfig
  readonly tasks: readonly JobTask[]
  /** How the tasks differ from those the job was started with. */
  readonly changes: readonly string[]
}

/** A job as its own directory describes it, with its tasks read again. */
export async function loadStoredJob(path: string, settings: Partial<JobConfig> = {}): Promise<StoredJob> {
  const there = await loadJobDir(path)
  const config = { ...there.config, ...settings, jobName: basename(there.dir), jobsDir: dirname(there.dir) }
  refuseLostSecrets(there)
  const tasks = await resolveTasks(config)
  const before = there.own && parseIdentity(there.own.identity)
  const now = identityOf(
    config,
    tasks.map(({ task }) => task),
  )
  return { there, config, tasks, changes: before ? differences(before, { ...before, tasks: now.tasks }) : [] }
}

/** The stored job as something to run, under its own name; refused when its tasks or the code of its agents are no longer the same. */
export async function continuing({ there, config, tasks, changes: taskChanges }: StoredJob): Promise<JobToRun> {
  const before = there.own && parseIdentity(there.own.identity)
  const imports = await importDigests(config)
  const changes = [...taskChanges, ...(before ? differences(before, { ...before, imports }) : [])]
  if (changes.length > 0) {
    throw new UserError(
      `${there.dir}: expected the job's own tasks and agents, found others: ${changes.slice(0, 5).join('; ')}`,
      'put them back as they were, or run them as a new job',
    )
  }
  const job = { config, named: true, tasks, layout: there.layout, invocation: [] }
  return { config, tasks, open: () => continueJob(job, there) }
}

/** Literal secrets are masked in a job's files, so that a masked value would reach the agent. */
function refuseLostSecrets({ config, dir }: JobDir): void {
  const parts = [
    ...config.agents.map((agent, i) => [`agents[${i}]`, { env: agent.env, kwargs: agent.kwargs }] as const),
    ['environment', { env: config.environment.env, kwargs: config.environment.kwargs }] as const,
    ['verifier', { env: config.verifier.env }] as const,
  ]
  const lost = parts.flatMap(([path, part]) => maskedIn(part, path))
  if (lost.length === 0) return
  throw new UserError(
    `${dir}: expected all settings of the job, found that ${lost.join(', ')} held a secret, which is never written down`,
    `run the original command again; a setting written as \${VARIABLE} is found again by itself`,
  )
}

function maskedIn(value: unknown, path: string): string[] {
  if (typeof value === 'string') return /^(.{4}\*{4}.{3}|\*{4})$/s.test(value) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => maskedIn(item, `${path}.${key}`))
}
