import { type ConfigWarning, unknownKey } from './read-config.ts'

type Raw = Record<string, unknown>

/** Turns the older spellings of a job or trial config into today's; says which it met. */
export function migrate(input: unknown): { value: unknown; warnings: ConfigWarning[] } {
  if (!isRaw(input)) return { value: input, warnings: [] }
  const value = structuredClone(input)
  const warnings = [...migrateOrchestrator(value), ...migrateDatasets(value.datasets)]
  const parts: [string, unknown][] = [
    ['environment', value.environment],
    ['verifier', value.verifier],
    ['agent', value.agent],
  ]
  if (Array.isArray(value.agents)) for (const [i, agent] of value.agents.entries()) parts.push([`agents[${i}]`, agent])
  for (const [path, part] of parts) if (isRaw(part)) warnings.push(...migrateEnv(part, path))
  if (isRaw(value.environment)) warnings.push(...migrateMounts(value.environment))
  return { value, warnings }
}

/** `orchestrator: {n_concurrent_trials, quiet, retry}` moved to the top level, where a key already there wins. */
function migrateOrchestrator(value: Raw): ConfigWarning[] {
  if (!('orchestrator' in value)) return []
  const old = value.orchestrator
  delete value.orchestrator
  const warnings = [legacy('orchestrator', 'n_concurrent_trials, quiet and retry belong at the top level')]
  if (!isRaw(old)) return warnings
  for (const key of Object.keys(old)) {
    if (['n_concurrent_trials', 'quiet', 'retry'].includes(key)) value[key] ??= old[key]
    else if (key !== 'type') warnings.push(unknownKey(`orchestrator.${key}`))
  }
  return warnings
}

/** `registry: {url | path}` of a dataset became two flat keys. */
function migrateDatasets(datasets: unknown): ConfigWarning[] {
  if (!Array.isArray(datasets)) return []
  return datasets.flatMap((dataset: unknown, i) => {
    if (!isRaw(dataset) || !('registry' in dataset)) return []
    const { registry } = dataset
    delete dataset.registry
    if (isRaw(registry)) {
      if ('url' in registry) dataset.registry_url ??= registry.url
      if ('path' in registry) dataset.registry_path ??= registry.path
    }
    return [legacy(`datasets[${i}].registry`, 'write registry_url or registry_path')]
  })
}

/** `env: [KEY=value, ...]` became a mapping. An entry that is no assignment is left for the schema to refuse. */
function migrateEnv(part: Raw, path: string): ConfigWarning[] {
  const { env } = part
  if (!Array.isArray(env) || !env.every((item): item is string => typeof item === 'string' && item.includes('=')))
    return []
  part.env = Object.fromEntries(
    env.map((item) => [item.slice(0, item.indexOf('=')).trim(), item.slice(item.indexOf('=') + 1).trim()]),
  )
  return [legacy(`${path}.env`, 'write a mapping of names to values instead of a list')]
}

/** Newer Harbor calls `mounts_json` `mounts`. */
function migrateMounts(environment: Raw): ConfigWarning[] {
  if (!('mounts' in environment)) return []
  environment.mounts_json ??= environment.mounts
  delete environment.mounts
  return []
}

function legacy(path: string, instead: string): ConfigWarning {
  return { path, kind: 'legacy', isolation: false, message: `${path} is an old spelling; ${instead}` }
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
