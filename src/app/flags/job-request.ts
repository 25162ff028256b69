import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { UserError } from '../../core/errors.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { readJson } from '../../lib/parse-json.ts'
import { absoluteImportPath } from '../../plugins/user-modules/import-path.ts'
import { parseAssignment, parsedAssignments, parseValue, textAssignments } from '../job/assignments.ts'
import { modelRequestOf } from '../job/model-flags.ts'
import type { TasksRequest } from '../job/tasks-request.ts'
import type { RunOptions } from './run-options.ts'

/** The request described by the flags of `run`. */
export function jobRequestOf(options: RunOptions): TasksRequest {
  return { ...modelRequestOf(options), ...whatToRun(options), ...howToRun(options), ...thisRun(options) }
}

function whatToRun(options: RunOptions): TasksRequest {
  return {
    ...tasksOf(options),
    include: options.includeTaskName,
    exclude: options.excludeTaskName,
    limit: options.nTasks,
    agent: pluginOf('-a', options.agent, '--agent-import-path', options.agentImportPath),
    agentOptions: parsedAssignments('--ak', options.agentKwarg ?? []),
    agentEnv: textAssignments('--ae', options.agentEnv ?? []),
    jobFile: options.config,
    set: [...harborSettings(options), ...settingsOf(options)],
  }
}

function howToRun(options: RunOptions): TasksRequest {
  return {
    sandbox: pluginOf('-e', sandboxName(options), '--environment-import-path', options.environmentImportPath),
    sandboxOptions: parsedAssignments('--ek', options.environmentKwarg ?? []),
    resources: {
      cpus: options.overrideCpus,
      memoryMb: options.overrideMemoryMb,
      storageMb: options.overrideStorageMb,
      gpus: options.overrideGpus,
    },
    forceBuild: options.forceBuild,
    verifier: {
      env: textAssignments('--ve', options.verifierEnv ?? []),
      disable: options.disableVerification ?? (options.enableVerification ? false : undefined),
      rewardPrecedence: options.rewardPrecedence,
      agentMayModifySystem: options.agentMayModifySystem,
    },
    artifacts: options.artifact,
    timeoutMultipliers: {
      all: options.timeoutMultiplier,
      agent: options.agentTimeoutMultiplier,
      verifier: options.verifierTimeoutMultiplier,
      agentSetup: options.agentSetupTimeoutMultiplier,
      environmentBuild: options.environmentBuildTimeoutMultiplier,
    },
    attempts: options.nAttempts,
    concurrency: options.nConcurrent,
    retry: { max: options.maxRetries, include: options.retryInclude, exclude: options.retryExclude },
    jobsDir: options.jobsDir,
    jobName: options.jobName,
    quiet: options.quiet,
    debug: options.debug,
  }
}

function thisRun(options: RunOptions): TasksRequest {
  return {
    layout: options.store,
    prefetch: options,
    passEnv: options.passEnv,
    passAllEnv: options.yes,
    restartInterrupted: options.restartInterrupted,
    fetch: options.fetch,
  }
}

function settingsOf({ set = [] }: RunOptions): readonly Setting[] {
  return set.map((text) => parseAssignment('--set', text)).map(([path, value]) => [path, parseValue(value)])
}

/** Harbor flags that only exist here as keys of the job file. */
function harborSettings({ delete: deletes, mountsJson }: RunOptions): readonly Setting[] {
  const removal: Setting[] = deletes === undefined ? [] : [['environment.delete', deletes]]
  return mountsJson === undefined ? removal : [...removal, ['environment.mounts_json', parseMounts(mountsJson)]]
}

type Setting = readonly [path: string, value: unknown]

function parseMounts(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw new UserError('--mounts-json: expected JSON, got something else', 'pass a list of mounts, for example []')
  }
}

/** Harbor calls it `--env`. */
function sandboxName({ environment, env }: RunOptions): string | undefined {
  if (environment !== env) refuseBoth('-e', environment, '--env', env)
  return environment ?? env
}

function tasksOf(options: RunOptions): TasksRequest {
  if (options.task !== undefined)
    throw new UserError(
      `--task ${options.task}: tasks of Harbor's hub cannot be fetched by ot-agent`,
      'download it with Harbor and pass its folder with -p, or use -d and -i',
    )
  const { path, dataset, registryPath, registryUrl, taskGitUrl: url, taskGitCommit: commit } = options
  if (path !== dataset) refuseBoth('--path', path, '--dataset', dataset)
  refuseBoth('--registry-path', registryPath, '--registry-url', registryUrl)
  if (commit !== undefined && url === undefined)
    throw new UserError('expected --task-git-url with --task-git-commit, got none', 'add --task-git-url')
  return { tasks: path, dataset, registryPath, registryUrl, git: url === undefined ? undefined : { url, commit } }
}

/** A plug-in given by name, or by the path of a user's module. */
function pluginOf(flag: string, name: string | undefined, other: string, path: string | undefined): string | undefined {
  refuseBoth(flag, name, other, path)
  return path === undefined ? name : absoluteImportPath(path)
}

function refuseBoth(flag: string, value: string | undefined, other: string, path: string | undefined): void {
  if (value === undefined || path === undefined) return
  throw new UserError(`expected ${flag} or ${other}, got both: ${value} and ${path}`, 'use only one of them')
}

/**
 * Loads a file's variables into this process, where templates and plug-ins look for them; variables already set are
 * kept. Returns their names.
 */
export async function loadEnvFile(path: string): Promise<string[]> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const variables = Object.entries(parseEnv(text))
  for (const [name, value] of variables) process.env[name] ??= value
  return variables.map(([name]) => name)
}
