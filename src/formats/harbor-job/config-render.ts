import type {
  AgentConfig,
  DatasetConfig,
  EnvironmentConfig,
  JobConfig,
  RetryConfig,
  TaskConfig,
  TimeoutMultipliers,
  TrialConfig,
  VerifierConfig,
} from '../../core/job.ts'
import { float, floatOrNull } from './python-json.ts'

// Every function here renders one part of a config with Harbor's keys, in Harbor's order, including nulls.

/** A job's whole config; secrets must already be removed. */
export function jobConfigDocument(config: JobConfig): object {
  return {
    job_name: config.jobName,
    jobs_dir: config.jobsDir,
    n_attempts: config.nAttempts,
    ...multipliersDocument(config.timeoutMultipliers),
    debug: config.debug,
    n_concurrent_trials: config.nConcurrentTrials,
    quiet: config.quiet,
    retry: retryDocument(config.retry),
    environment: environmentDocument(config.environment),
    verifier: verifierDocument(config.verifier),
    metrics: config.metrics.map(({ type, kwargs }) => ({ type, kwargs })),
    agents: config.agents.map(agentDocument),
    datasets: config.datasets.map(datasetDocument),
    tasks: config.tasks.map(taskDocument),
    artifacts: artifactsDocument(config.artifacts),
  }
}

/** A trial's whole config; secrets must already be removed. */
export function trialConfigDocument(config: TrialConfig): object {
  return {
    task: taskDocument(config.task),
    trial_name: config.trialName,
    trials_dir: config.trialsDir,
    ...multipliersDocument(config.timeoutMultipliers),
    agent: agentDocument(config.agent),
    environment: environmentDocument(config.environment),
    verifier: verifierDocument(config.verifier),
    artifacts: artifactsDocument(config.artifacts),
    job_id: config.jobId,
  }
}

export function multipliersDocument(multipliers: TimeoutMultipliers) {
  return {
    timeout_multiplier: float(multipliers.all),
    agent_timeout_multiplier: floatOrNull(multipliers.agent),
    verifier_timeout_multiplier: floatOrNull(multipliers.verifier),
    agent_setup_timeout_multiplier: floatOrNull(multipliers.agentSetup),
    environment_build_timeout_multiplier: floatOrNull(multipliers.environmentBuild),
  }
}

export function agentDocument(agent: AgentConfig): object {
  return {
    name: agent.name,
    import_path: agent.importPath,
    model_name: agent.modelName,
    override_timeout_sec: floatOrNull(agent.overrideTimeoutSec),
    override_setup_timeout_sec: floatOrNull(agent.overrideSetupTimeoutSec),
    max_timeout_sec: floatOrNull(agent.maxTimeoutSec),
    kwargs: agent.kwargs,
    env: agent.env,
  }
}

export function environmentDocument(environment: EnvironmentConfig): object {
  const { type, importPath } = toHarborEnvironment(environment)
  return {
    type,
    import_path: importPath,
    force_build: environment.forceBuild,
    delete: environment.delete,
    override_cpus: environment.overrideCpus,
    override_memory_mb: environment.overrideMemoryMb,
    override_storage_mb: environment.overrideStorageMb,
    override_gpus: environment.overrideGpus,
    suppress_override_warnings: environment.suppressOverrideWarnings,
    mounts_json: environment.mountsJson,
    env: environment.env,
    kwargs: environment.kwargs,
  }
}

export function verifierDocument(verifier: VerifierConfig): object {
  return {
    override_timeout_sec: floatOrNull(verifier.overrideTimeoutSec),
    max_timeout_sec: floatOrNull(verifier.maxTimeoutSec),
    env: verifier.env,
    disable: verifier.disable,
    // These are not Harbor keys; Harbor ignores them.
    ...(verifier.rewardPrecedence === 'txt' ? {} : { reward_precedence: verifier.rewardPrecedence }),
    ...(verifier.agentMayModifySystem ? { agent_may_modify_system: true } : {}),
  }
}

export function retryDocument(retry: RetryConfig): object {
  return {
    max_retries: retry.maxRetries,
    include_exceptions: retry.include && [...retry.include].sort(),
    exclude_exceptions: [...retry.exclude].sort(),
    wait_multiplier: float(retry.waitMultiplier),
    min_wait_sec: float(retry.minWaitSec),
    max_wait_sec: float(retry.maxWaitSec),
  }
}

function taskDocument(task: TaskConfig): object {
  return {
    path: task.path,
    git_url: task.gitUrl,
    git_commit_id: task.gitCommitId,
    name: task.name,
    ref: task.ref,
    overwrite: task.overwrite,
    download_dir: task.downloadDir,
    source: task.source,
  }
}

function datasetDocument(dataset: DatasetConfig): object {
  return {
    path: dataset.path,
    name: dataset.name,
    version: dataset.version,
    ref: dataset.ref,
    registry_url: dataset.registryUrl,
    registry_path: dataset.registryPath,
    overwrite: dataset.overwrite,
    download_dir: dataset.downloadDir,
    task_names: dataset.taskNames,
    exclude_task_names: dataset.excludeTaskNames,
    n_tasks: dataset.nTasks,
  }
}

function artifactsDocument(artifacts: JobConfig['artifacts']): unknown[] {
  return artifacts.map((artifact) => {
    if (typeof artifact === 'string') return artifact
    const { source, destination = null, exclude, service } = artifact
    return { source, destination, exclude, service }
  })
}

/**
 * Harbor only opens a config with an environment type that it knows. Our other types are written as an import path,
 * which it accepts unchecked.
 */
const harborTypes: ReadonlySet<string> = new Set([
  'docker',
  'daytona',
  'e2b',
  'modal',
  'runloop',
  'gke',
  'apple-container',
  'singularity',
  'islo',
  'tensorlake',
])

const prefix = 'ot-agent:'

interface EnvironmentName {
  readonly type: string | null
  readonly importPath: string | null
}

/** How Harbor's files name one of our sandboxes; if neither field is given it means docker, as in Harbor. */
function toHarborEnvironment({ type, importPath }: EnvironmentName): EnvironmentName {
  if (type === null) return { type: importPath === null ? 'docker' : null, importPath }
  return harborTypes.has(type) ? { type, importPath } : { type: null, importPath: prefix + type }
}

/** The inverse. */
export function fromHarborEnvironment({ type, importPath }: EnvironmentName): EnvironmentName {
  if (type !== null || !importPath?.startsWith(prefix)) return { type, importPath }
  return { type: importPath.slice(prefix.length), importPath: null }
}
