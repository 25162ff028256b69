import { readFile } from 'node:fs/promises'
import { UserError } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import { isAgentConfig, parseAgentConfig } from '../../formats/agent-config.ts'
import { type ConfigWarning, parseJobConfig } from '../../formats/harbor-job/job-config.ts'
import { migrate } from '../../formats/harbor-job/legacy.ts'
import { readDocument } from '../../formats/harbor-job/read-config.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { note } from '../output.ts'
import { type AgentDefaults, agentDefaults, oneModel } from './agent-defaults.ts'
import type { RunOptions } from './options.ts'
import { parseAssignment, parsedAssignments, parsePath, parseValue, setAt, textAssignments } from './values.ts'

type Document = Record<string, unknown>

/** A job as asked for: its settings, and whether its name was chosen or is only the time. */
export interface AskedJob {
  readonly config: JobConfig
  readonly named: boolean
  /** The job file's `adaptive_concurrency`, which is about this run and no part of the job. */
  readonly adaptive: unknown
}

/** Reads what to do: the job file if one is given, then the options, which win, then `--set`. */
export async function askedJob(options: RunOptions, defaultSandbox: string): Promise<AskedJob> {
  const file = options.config === undefined ? noFile() : await loadDocument(options.config)
  const { document, warnings, adaptive } = file
  applyOptions(document, options, await agentDefaults(options, file.isOneModel))
  for (const text of options.set ?? []) {
    const [path, value] = parseAssignment('--set', text)
    setAt(document, parsePath('--set', path), parseValue(value))
  }
  const parsed = parseJobConfig(JSON.stringify(document), { path: 'the command line', format: 'json' })
  refuseUnknownKeys(parsed.warnings, warnings)
  const environment = { ...parsed.config.environment }
  environment.type ??= environment.importPath === null ? defaultSandbox : null
  return { config: { ...parsed.config, environment }, named: typeof document.job_name === 'string', adaptive }
}

interface JobFile {
  readonly document: Document
  readonly warnings: readonly ConfigWarning[]
  readonly adaptive: unknown
  /** It only sets up one model as an agent. */
  readonly isOneModel: boolean
}

/** Its document is filled in, so that everybody gets one of their own. */
function noFile(): JobFile {
  return { document: {}, warnings: [], adaptive: undefined, isOneModel: false }
}

async function loadDocument(path: string): Promise<JobFile> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const read = readDocument(text, path)
  if (isAgentConfig(read)) {
    const settings = parseAgentConfig(read, path)
    if (settings.agentName !== null)
      note(`${path}: agent_name ${settings.agentName} is ignored: it is only a display name`)
    return { ...noFile(), document: oneModel(settings), isOneModel: true }
  }
  const adaptive = adaptiveIn(read)
  const warnings = parseJobConfig(text, { path }).warnings.filter(
    (warning) => !/adaptive_concurrency$/.test(warning.path),
  )
  for (const warning of warnings) {
    if (warning.isolation)
      throw new UserError(
        `${path}: ${warning.message}, although it promises isolation`,
        'remove the key, or spell it as Harbor does',
      )
    note(`${path}: ${warning.message}`)
  }
  const { value } = migrate(read)
  const { adaptive_concurrency: _, ...document } = isDocument(value) ? value : {}
  return { ...noFile(), document, warnings, adaptive }
}

/** Where the number of trials at once follows the server: at the top of a job file, or in its old orchestrator block. */
function adaptiveIn(read: unknown): unknown {
  if (!isDocument(read)) return undefined
  const { orchestrator } = read
  return read.adaptive_concurrency ?? (isDocument(orchestrator) ? orchestrator.adaptive_concurrency : undefined)
}

/** A key the job file already has was noted; one that `--set` brings is a mistake. */
function refuseUnknownKeys(found: readonly ConfigWarning[], known: readonly ConfigWarning[]): void {
  const unknown = found.find(({ path, kind }) => kind === 'unknown' && !known.some((warning) => warning.path === path))
  if (unknown)
    throw new UserError(
      `--set: ${unknown.path} is not a key of a job file`,
      'use the keys of a Harbor job file, for example n_attempts or agents[0].model_name',
    )
}

function applyOptions(document: Document, options: RunOptions, defaults: AgentDefaults): void {
  const flat: Document = {
    job_name: options.jobName,
    jobs_dir: options.jobsDir,
    n_attempts: options.nAttempts,
    n_concurrent_trials: options.nConcurrent,
    timeout_multiplier: options.timeoutMultiplier,
    agent_timeout_multiplier: options.agentTimeoutMultiplier,
    verifier_timeout_multiplier: options.verifierTimeoutMultiplier,
    agent_setup_timeout_multiplier: options.agentSetupTimeoutMultiplier,
    environment_build_timeout_multiplier: options.environmentBuildTimeoutMultiplier,
    quiet: options.quiet,
    debug: options.debug,
    artifacts: options.artifact && [...listAt(document, 'artifacts'), ...options.artifact],
  }
  merge(document, flat)
  merge(sectionAt(document, 'retry'), {
    max_retries: options.maxRetries,
    include_exceptions: options.retryInclude,
    exclude_exceptions: options.retryExclude,
  })
  applyEnvironment(document, options)
  applyAgents(document, options, defaults)
}

function applyEnvironment(document: Document, options: RunOptions): void {
  const environment = sectionAt(document, 'environment')
  const { environment: type, environmentImportPath: importPath } = options
  refuseBoth('-e', type, '--environment-import-path', importPath)
  if (type !== undefined) merge(environment, { type, import_path: null })
  if (importPath !== undefined) merge(environment, { type: null, import_path: importPath })
  merge(environment, {
    force_build: options.forceBuild,
    override_cpus: options.overrideCpus,
    override_memory_mb: options.overrideMemoryMb,
    override_storage_mb: options.overrideStorageMb,
    override_gpus: options.overrideGpus,
  })
  merge(sectionAt(environment, 'kwargs'), parsedAssignments('--ek', options.environmentKwarg ?? []))
  const verifier = sectionAt(document, 'verifier')
  merge(verifier, {
    disable: options.disableVerification,
    reward_precedence: options.rewardPrecedence,
    agent_may_modify_system: options.agentMayModifySystem,
  })
  merge(sectionAt(verifier, 'env'), textAssignments('--ve', options.verifierEnv ?? []))
}

/** `-a` or an import path replaces the job file's agents; `-m` makes one agent per model; options and variables go to all of them. */
function applyAgents(document: Document, options: RunOptions, defaults: AgentDefaults): void {
  const kwargs = { ...defaults.kwargs, ...parsedAssignments('--ak', options.agentKwarg ?? []) }
  const env = textAssignments('--ae', options.agentEnv ?? [])
  const listed = listAt(document, 'agents').filter(isDocument)
  const { agent: name, agentImportPath: importPath } = options
  refuseBoth('-a', name, '--agent-import-path', importPath)
  const asked = name !== undefined ? [{ name }] : importPath !== undefined ? [{ import_path: importPath }] : null
  const base: readonly Document[] =
    asked === null ? listed : asked.map((agent) => ({ ...defaults.ofModel(listed), ...agent }))
  const models = options.model ?? (defaults.model === null ? [] : [defaults.model])
  document.agents = (base.length > 0 ? base : [defaults.agent]).flatMap((agent) =>
    (models.length > 0 ? models : [undefined]).map((model) => ({
      ...agent,
      ...(model !== undefined && { model_name: model }),
      kwargs: { ...sectionAt(agent, 'kwargs'), ...kwargs },
      env: { ...sectionAt(agent, 'env'), ...env },
    })),
  )
}

function refuseBoth(option: string, value: string | undefined, other: string, path: string | undefined): void {
  if (value === undefined || path === undefined) return
  throw new UserError(`expected ${option} or ${other}, got both: ${value} and ${path}`, 'leave one of them out')
}

function merge(target: Document, values: Document): void {
  for (const [key, value] of Object.entries(values)) if (value !== undefined) target[key] = value
}

/** The mapping at a key, made if missing. Anything else there is left for the schema to refuse. */
function sectionAt(document: Document, key: string): Document {
  const there = document[key]
  if (isDocument(there)) return there
  if (there !== undefined && there !== null) return {}
  const made: Document = {}
  document[key] = made
  return made
}

function listAt(document: Document, key: string): readonly unknown[] {
  const there = document[key]
  return Array.isArray(there) ? there : []
}

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
