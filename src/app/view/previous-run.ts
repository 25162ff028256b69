import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import type { NewJobRun, PreviousRun } from '../../core/new-run.ts'
import { mask } from '../../core/redact.ts'
import { jsonOrText, parseJson } from '../../lib/parse-json.ts'
import type { JobDir } from '../../store/job-dir.ts'

type Draft = { -readonly [K in keyof NewJobRun]?: NewJobRun[K] | undefined }

/** Turns a job into an editable request, and lists the settings of the job that are missing from it. */
export async function previousRun({ dir, config }: JobDir): Promise<PreviousRun> {
  const { kind, benchmark } = await commandOf(dir)
  const missing: string[] = []
  const agents = config.agents.map((agent) => agentFields(agent, missing))
  const [first = {}] = agents
  if (agents.some(({ models: _, ...rest }) => JSON.stringify(rest) !== JSON.stringify(without(first, 'models'))))
    missing.push('agents other than the first one')
  const run: Draft = {
    ...first,
    models: [...new Set(agents.flatMap(({ models = [] }) => models))],
    ...(benchmark === null ? tasksOf(config, missing) : {}),
    ...sandboxOf(config, missing),
    attempts: config.nAttempts,
    concurrency: config.nConcurrentTrials,
    maxRetries: config.retry.maxRetries,
  }
  if (Object.keys(config.verifier.env).length > 0) missing.push('variables of the tests')
  if (config.verifier.disable) missing.push('the tests were not run')
  if (config.artifacts.length > 0) missing.push('artifacts')
  if (Object.values(config.timeoutMultipliers).some((value) => value !== null && value !== 1))
    missing.push('multiplied time limits')
  return {
    run: { kind, ...given(run), ...(kind === 'eval' && benchmark !== null && { benchmark }) } as PreviousRun['run'],
    missing: [...new Set(missing)],
  }
}

function agentFields(agent: AgentConfig, missing: string[]): Draft {
  const { api_base: apiBase, engine, ...options } = agent.kwargs
  const { name, api_key_env: apiKeyEnv, options: engineOptions, config } = Object(engine) as Record<string, unknown>
  if (config !== undefined) missing.push('the engine file')
  if (Object.keys(agent.env).length > 0) missing.push('variables of the agent')
  if ([agent.overrideTimeoutSec, agent.overrideSetupTimeoutSec, agent.maxTimeoutSec].some((value) => value !== null))
    missing.push('time limits of the agent')
  return {
    agent: agent.name ?? agent.importPath ?? undefined,
    agentOptions: assigned(options, missing),
    models: agent.modelName === null ? [] : [agent.modelName],
    apiBase: typeof apiBase === 'string' ? apiBase : undefined,
    apiKeyEnv: typeof apiKeyEnv === 'string' ? apiKeyEnv : undefined,
    engine: typeof name === 'string' ? name : undefined,
    engineOptions: assigned(Object(engineOptions) as Record<string, unknown>, missing),
  }
}

function tasksOf({ tasks, datasets }: JobConfig, missing: string[]): Draft {
  const [task] = tasks
  const [dataset] = datasets
  if (tasks.length + datasets.length > 1) missing.push('tasks other than the first ones')
  if (task?.path != null && task.gitUrl === null) return { tasks: task.path }
  if (!dataset) {
    missing.push('the tasks')
    return {}
  }
  const { path, name, version, taskNames, excludeTaskNames, nTasks } = dataset
  if (excludeTaskNames?.length) missing.push('excluded tasks')
  return {
    ...(path !== null ? { tasks: path } : { dataset: version === null ? (name ?? undefined) : `${name}@${version}` }),
    include: taskNames ?? undefined,
    limit: nTasks ?? undefined,
  }
}

function sandboxOf({ environment }: JobConfig, missing: string[]): Draft {
  const { overrideCpus, overrideMemoryMb, overrideStorageMb, overrideGpus } = environment
  if ([overrideCpus, overrideMemoryMb, overrideStorageMb, overrideGpus].some((value) => value !== null))
    missing.push('resources of sandboxes')
  return {
    sandbox: environment.type ?? environment.importPath ?? undefined,
    sandboxOptions: assigned(environment.kwargs, missing),
  }
}

/** Options as `key=value` strings that parse back to the same values. Masked ones are left out. */
function assigned(options: Readonly<Record<string, unknown>>, missing: string[]): string[] {
  return Object.entries(options).flatMap(([key, value]) => {
    const text = typeof value === 'string' && jsonOrText(value) === value ? value : JSON.stringify(value)
    if (!text.includes(mask)) return [`${key}=${text}`]
    missing.push(`the value of ${key}`)
    return []
  })
}

/** Whether the job was an evaluation, and of which benchmark, according to the command line in its lock. */
async function commandOf(dir: string): Promise<{ kind: NewJobRun['kind']; benchmark: string | null }> {
  const text = await beginningOf(join(dir, 'lock.json'))
  const found = parseJson(/"invocation": (\[[\s\S]*?\n {4}\])/.exec(text)?.[1] ?? '')
  const words = Array.isArray(found) ? found.map(String) : []
  if (!words.some((word, i) => word === 'eval' && words[i + 1] === 'run')) return { kind: 'run', benchmark: null }
  const named = words.find((word) => word.startsWith('--benchmark='))?.replace('--benchmark=', '')
  const at = words.indexOf('--benchmark')
  return { kind: 'eval', benchmark: named ?? (at < 0 ? null : (words[at + 1] ?? null)) }
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path).catch(() => null)
  if (file === null) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(65_536), 0, 65_536, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

function without<T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> {
  const { [key]: _, ...rest } = value
  return rest
}

/** Leaves out empty lists and strings. */
function given(draft: Draft): Draft {
  return Object.fromEntries(
    Object.entries(draft).filter(([, value]) => value !== undefined && (!Array.isArray(value) || value.length > 0)),
  )
}
