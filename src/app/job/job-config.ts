import { readFile } from 'node:fs/promises'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, EnvironmentConfig, JobConfig, VerifierConfig } from '../../core/job.ts'
import {
  type ConfigWarning,
  defaultAgent,
  defaultJobConfig,
  jobSchema,
  parseJobConfig,
  setInJobConfig,
} from '../../formats/harbor-job/job-config.ts'
import { currentAgentOptions, migrate } from '../../formats/harbor-job/read-config.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { agentDefaults, agentOfModel, modelOf } from './agent-defaults.ts'
import { parsePath, setAt } from './assignments.ts'
import { chooseTasks } from './resolve-tasks.ts'
import { type Notify, requestedModel, requestedPlugin, type TasksRequest } from './tasks-request.ts'

/** A job as requested: its settings, and whether its name was chosen or is just the time. */
export interface RequestedJob {
  readonly config: JobConfig
  readonly named: boolean
  /** The job file's `adaptive_concurrency`, which concerns this run and is not part of the job. */
  readonly adaptive: unknown
}

/** Builds a job's settings: the job file, if any, then the request, then the request's `set`; later ones win. */
export async function jobConfigOf(request: TasksRequest, notify: Notify): Promise<RequestedJob> {
  const file = request.jobFile === undefined ? noFile() : await loadJobFile(request.jobFile, notify)
  const asked = {
    ...withJobSettings(file, request),
    environment: environmentOf(file.config.environment, request),
    verifier: verifierOf(file.config.verifier, request),
    agents: await agentsOf(file, request),
  }
  const named = file.named || request.jobName !== undefined
  const set = await withSet(asked, request.set ?? [])
  const { environment } = set.config
  const isUnnamed = environment.type === null && environment.importPath === null
  if (isUnnamed && file.isHarborJob)
    notify(`${request.jobFile}: environment.type is missing, which means docker as in Harbor; -e chooses another`)
  if (!environment.delete) notify('delete = false is ignored: sandboxes are removed after each trial')
  const type = isUnnamed ? (file.isHarborJob ? 'docker' : 'local') : environment.type
  const config = await chooseTasks({ ...set.config, environment: { ...environment, type } }, request)
  return { config, named: named || set.named, adaptive: file.adaptive }
}

interface JobFile {
  readonly config: JobConfig
  /** The agents in the file; null if it lists none. */
  readonly agents: readonly AgentConfig[] | null
  readonly named: boolean
  readonly namesRetries: boolean
  readonly adaptive: unknown
  /** True if the file only configures one model as an agent. */
  readonly isOneModel: boolean
  /** True for a Harbor job file, which gets Harbor's defaults. */
  readonly isHarborJob: boolean
}

function noFile(): JobFile {
  return {
    config: defaultJobConfig(),
    agents: null,
    named: false,
    namesRetries: false,
    adaptive: undefined,
    isOneModel: false,
    isHarborJob: false,
  }
}

async function loadJobFile(path: string, notify: Notify): Promise<JobFile> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const { readDocument } = await import('../../formats/harbor-job/read-document.ts')
  const read = readDocument(text, path)
  const { isAgentConfig, parseAgentConfig } = await import('../../formats/agent-config.ts')
  if (isAgentConfig(read)) {
    const settings = parseAgentConfig(read, path)
    if (settings.agentName !== null)
      notify(`${path}: agent_name ${settings.agentName} is ignored: it is only a display name`)
    return { ...noFile(), agents: [agentOfModel(settings)], isOneModel: true }
  }
  const { config, warnings } = parseJobConfig(read, { path })
  for (const warning of warnings.filter(({ path: key }) => !/adaptive_concurrency$/.test(key)))
    await noteWarning(warning, path, notify)
  const document = asDocument(migrate(read).value)
  const lists = Array.isArray(document.agents) && document.agents.length > 0
  return {
    config,
    agents: lists ? config.agents : null,
    named: typeof document.job_name === 'string',
    namesRetries: asDocument(document.retry).max_retries !== undefined,
    adaptive: adaptiveIn(read),
    isOneModel: false,
    isHarborJob: true,
  }
}

/**
 * Handles a warning: an old spelling is accepted; an unknown key is an error, because it would silently change the job.
 */
async function noteWarning(warning: ConfigWarning, path: string, notify: Notify): Promise<void> {
  if (warning.kind === 'legacy') return notify(`${path}: ${warning.message}`)
  throw new UserError(`${path}: ${warning.path} is not a known key`, await hintFor(warning.path))
}

async function hintFor(key: string): Promise<string> {
  const { keyHint } = await import('../../formats/strict-config.ts')
  return keyHint(jobSchema, key)
}

/**
 * Finds the setting that adapts the number of trials to the server: at the top of a job file, or in its old
 * orchestrator block.
 */
function adaptiveIn(read: unknown): unknown {
  const document = asDocument(read)
  return document.adaptive_concurrency ?? asDocument(document.orchestrator).adaptive_concurrency
}

function withJobSettings({ config, namesRetries }: JobFile, request: TasksRequest): JobConfig {
  const { retry = {} } = request
  const maxRetries = retry.max ?? (namesRetries ? undefined : retry.defaultMax)
  return {
    ...config,
    jobName: request.jobName ?? config.jobName,
    jobsDir: request.jobsDir ?? config.jobsDir,
    nAttempts: request.attempts ?? config.nAttempts,
    nConcurrentTrials: request.concurrency ?? config.nConcurrentTrials,
    timeoutMultipliers: { ...config.timeoutMultipliers, ...given(request.timeoutMultipliers) },
    quiet: request.quiet ?? config.quiet,
    debug: request.debug ?? config.debug,
    artifacts: [...config.artifacts, ...(request.artifacts ?? [])],
    retry: {
      ...config.retry,
      ...given({ maxRetries, include: retry.include, exclude: retry.exclude }),
    },
  }
}

function environmentOf(environment: EnvironmentConfig, request: TasksRequest): EnvironmentConfig {
  const sandbox = request.sandbox === undefined ? null : requestedPlugin(request.sandbox)
  const { resources = {} } = request
  return {
    ...environment,
    ...(sandbox && { type: sandbox.name, importPath: sandbox.importPath }),
    ...given({
      forceBuild: request.forceBuild,
      overrideCpus: resources.cpus,
      overrideMemoryMb: resources.memoryMb,
      overrideStorageMb: resources.storageMb,
      overrideGpus: resources.gpus,
    }),
    kwargs: { ...environment.kwargs, ...sandbox?.options, ...request.sandboxOptions },
  }
}

function verifierOf(verifier: VerifierConfig, { verifier: asked = {} }: TasksRequest): VerifierConfig {
  const { env, disable, timeoutSec, rewardPrecedence, agentMayModifySystem } = asked
  return {
    ...verifier,
    ...given({ disable, rewardPrecedence, overrideTimeoutSec: timeoutSec }),
    ...(agentMayModifySystem && { agentMayModifySystem }),
    env: { ...verifier.env, ...env },
  }
}

/**
 * The agent in the request replaces those of the file; each model makes one agent; options and variables apply to all
 * of them.
 */
async function agentsOf({ agents, isOneModel }: JobFile, request: TasksRequest): Promise<AgentConfig[]> {
  const defaults = await agentDefaults(request)
  const asked = request.agent === undefined ? null : requestedPlugin(request.agent)
  const [first] = agents ?? []
  const ofModel = isOneModel && first ? modelOf(first) : {}
  const base = asked
    ? [{ ...defaultAgent(), ...ofModel, name: asked.name, importPath: asked.importPath }]
    : (agents ?? [defaults.agent])
  const own = currentAgentOptions(request.agentOptions ?? {})
  const { names } = requestedModel(request)
  const models = names.length > 0 ? names : defaults.model === null ? [null] : [defaults.model]
  return base.flatMap((agent) =>
    models.map((model) => ({
      ...agent,
      modelName: model ?? agent.modelName,
      overrideTimeoutSec: request.agentTimeoutSec ?? agent.overrideTimeoutSec,
      kwargs: { ...agent.kwargs, ...defaults.kwargs, ...asked?.options, ...own },
      env: { ...agent.env, ...request.agentEnv },
    })),
  )
}

async function withSet(config: JobConfig, set: NonNullable<TasksRequest['set']>) {
  if (set.length === 0) return { config, named: false }
  const changed = setInJobConfig(config, { path: 'the command line' }, (document) => {
    for (const [path, value] of set) setAt(document, parsePath('--set', path), value)
  })
  const unknown = changed.warnings.find(({ kind }) => kind === 'unknown')
  if (unknown) throw new UserError(`--set: ${unknown.path} is not a key of a job file`, await hintFor(unknown.path))
  return { config: changed.config, named: set.some(([path]) => path === 'job_name') }
}

/** The fields that are not undefined. */
function given<T extends object>(fields: T | undefined): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

function asDocument(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
