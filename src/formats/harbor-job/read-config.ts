import type { core, ZodType } from 'zod'
import { messageOf, UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'

/** Something in a config that was changed or ignored while reading. */
export interface ConfigWarning {
  /** Its key, for example `environment.extra_allowed_hosts`. */
  readonly path: string
  /** `legacy`: an old spelling, accepted. `unknown`: an unknown key, ignored. */
  readonly kind: 'legacy' | 'unknown'
  readonly message: string
}

/** Parses a JSON file. */
export function readJsonDocument(text: string, path: string): unknown {
  try {
    return readJson(text)
  } catch (error) {
    throw badSyntax(path, 'JSON', error)
  }
}

/** The error for a config file with bad syntax. */
export function badSyntax(path: string, format: 'JSON' | 'YAML', error: unknown): UserError {
  const [problem = ''] = messageOf(error).split('\n')
  return new UserError(`${path}: expected ${format}, got: ${problem}`, 'fix the syntax of the file')
}

/** Parses `input` with a strict schema; unknown keys become warnings, anything else wrong is a UserError. */
export function parseConfig<T>(
  schema: ZodType<T>,
  input: unknown,
  path: string,
  hint: string,
): { value: T; warnings: ConfigWarning[] } {
  const copy: unknown = structuredClone(input)
  const warnings: ConfigWarning[] = []
  for (;;) {
    const result = schema.safeParse(copy)
    if (result.success) return { value: result.data, warnings }
    const issues = result.error.issues.flatMap(branches)
    const strange = issues.filter((issue) => issue.code === 'unrecognized_keys')
    const [wrong] = issues
    if (strange.length === 0 && wrong) throw new UserError(`${path}: ${describe(wrong, copy)}`, hint)
    for (const issue of strange) {
      const parent = valueAt(copy, issue.path)
      for (const key of issue.keys) {
        warnings.push(unknownKey(spell([...issue.path, key])))
        if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, key)
      }
    }
  }
}

/** The warning for an ignored key. */
function unknownKey(path: string): ConfigWarning {
  return { path, kind: 'unknown', message: `${path} is not a known key and is ignored` }
}

/** For a value that fits none of several schemas, the issues of the closest one. */
function branches(issue: core.$ZodIssue): readonly core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const close = issue.errors.find((errors) =>
    errors.every((error) => error.path.length > 0 || error.code !== 'invalid_type'),
  )
  return close ? close.map((error) => ({ ...error, path: [...issue.path, ...error.path] })) : [issue]
}

function describe(issue: core.$ZodIssue, input: unknown): string {
  const where = issue.path.length === 0 ? 'the document' : spell(issue.path)
  if (issue.code === 'custom') return `${where}: ${issue.message}`
  return `${where}: expected ${expectedBy(issue)}, got ${show(valueAt(input, issue.path))}`
}

function expectedBy(issue: core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return words[issue.expected] ?? issue.expected
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_small') return `at least ${issue.minimum}`
  if (issue.code === 'invalid_union') return 'a text or a mapping'
  return issue.message
}

const words: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

function spell(path: readonly PropertyKey[]): string {
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${String(key)}`)).join('')
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  return value
}

type Raw = Record<string, unknown>

/** Translates older spellings in a job or trial config, and reports those found. */
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
  for (const [path, part] of parts)
    if (isRaw(part)) warnings.push(...migrateEnv(part, path), ...migrateAgent(part, path))
  if (isRaw(value.environment)) warnings.push(...migrateMounts(value.environment))
  return { value, warnings }
}

/** `orchestrator: {n_concurrent_trials, quiet, retry}` moved to the top level, where an existing key wins. */
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

/** A dataset's `registry: {url | path}` became two flat keys. */
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

/** The placeholder for a model in OpenThoughts-Agent's job files, where the command line names the model. */
const placeholderModel = /^placeholder\//

/** Removes placeholder models; `trajectory_configs` became `trajectory_config`. */
function migrateAgent(part: Raw, path: string): ConfigWarning[] {
  if (typeof part.model_name === 'string' && placeholderModel.test(part.model_name)) part.model_name = null
  if (!isRaw(part.kwargs) || !('trajectory_configs' in part.kwargs)) return []
  part.kwargs = currentAgentOptions(part.kwargs)
  return [legacy(`${path}.kwargs.trajectory_configs`, 'write trajectory_config')]
}

/**
 * Renames `trajectory_configs`, an old spelling, to `trajectory_config` in an agent's options; keys already there win.
 */
export function currentAgentOptions<T extends Readonly<Raw>>(options: T): Readonly<Raw> {
  if (!('trajectory_configs' in options)) return options
  const { trajectory_configs: old, ...rest } = options
  const current = rest.trajectory_config
  if (!isRaw(old)) return { ...rest, trajectory_config: current ?? old }
  return { ...rest, trajectory_config: isRaw(current) ? { ...old, ...current } : (current ?? old) }
}

/** Newer Harbor renamed `mounts_json` to `mounts`. */
function migrateMounts(environment: Raw): ConfigWarning[] {
  if (!('mounts' in environment)) return []
  environment.mounts_json ??= environment.mounts
  delete environment.mounts
  return []
}

function legacy(path: string, instead: string): ConfigWarning {
  return { path, kind: 'legacy', message: `${path} is a deprecated spelling; ${instead}` }
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
