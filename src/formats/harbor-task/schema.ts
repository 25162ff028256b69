import { z } from 'zod'
import { UserError } from '../../core/errors.ts'

// Every message is a noun phrase saying what was expected; parse.ts adds the rest. Unknown keys are dropped, as in
// Harbor.

const text = z.string({ error: 'a string' })
const texts = z.array(text, { error: 'a list of strings' })
const env = z.record(z.string(), text, { error: 'a table of strings' })
const flag = z.boolean({ error: 'true or false' })
const number = z.number({ error: 'a number' })
const timeout = z.number({ error: 'a number of seconds' }).positive({ error: 'more than 0 seconds' })
const pause = z.number({ error: 'a number of seconds' }).nonnegative({ error: '0 seconds or more' })
const count = wholeNumber(0)
const user = z.union([text, count], { error: 'the name or the number of a user' })

function wholeNumber(least: number) {
  const what = `a whole number of at least ${least}`
  return z
    .number({ error: what })
    .refine((value) => Number.isInteger(value) && value >= least, { error: what })
    .meta({ type: 'integer', minimum: least })
}

function table<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, { error: 'a table' })
}

const networkKeys = {
  network_mode: z.enum(['public', 'no-network', 'allowlist'], { error: 'public, no-network or allowlist' }).optional(),
  allowed_hosts: texts.optional(),
}

const healthcheck = table({
  command: text,
  interval_sec: pause.default(5),
  timeout_sec: timeout.default(30),
  start_period_sec: pause.default(0),
  start_interval_sec: pause.default(5),
  retries: count.default(3),
})

const transports = ['sse', 'streamable-http', 'http', 'stdio'] as const
const mcpServer = table({
  name: text,
  transport: z.enum(transports, { error: transports.join(', ') }).default('sse'),
  url: text.optional(),
  command: text.optional(),
  args: texts.default([]),
})

const environment = table({
  build_timeout_sec: timeout.default(600),
  docker_image: text.optional(),
  os: z
    .string({ error: 'linux or windows' })
    .toLowerCase()
    .pipe(z.enum(['linux', 'windows'], { error: 'linux or windows' }))
    .optional(),
  cpus: z.number({ error: 'a number of processors' }).positive({ error: 'more than 0 processors' }).optional(),
  memory_mb: wholeNumber(1).optional(),
  storage_mb: wholeNumber(1).optional(),
  memory: text.optional(),
  storage: text.optional(),
  gpus: count.default(0),
  gpu_types: texts.optional(),
  tpu: table({ type: text, topology: text.optional() }).optional(),
  ...networkKeys,
  allow_internet: flag.optional(),
  mcp_servers: z.array(mcpServer, { error: 'a list of tables' }).default([]),
  env: env.default({}),
  skills_dir: text.optional(),
  healthcheck: healthcheck.optional(),
  workdir: text.optional(),
})

const agent = table({ timeout_sec: timeout.optional(), user: user.optional(), ...networkKeys })

const collect = table({
  command: text,
  service: text.default('main'),
  timeout_sec: timeout.default(60),
  user: user.optional(),
})

const verifier = table({
  timeout_sec: timeout.default(600),
  env: env.default({}),
  user: user.optional(),
  ...networkKeys,
  environment_mode: z.enum(['shared', 'separate'], { error: 'shared or separate' }).optional(),
  environment: environment.optional(),
  collect: z.array(collect, { error: 'a list of tables' }).default([]),
})

const artifact = table({
  source: text,
  destination: text.optional(),
  exclude: texts.default([]),
  service: text.optional(),
})
const artifacts = z
  .array(z.union([text, artifact], { error: 'a path, or a table with a source' }), { error: 'a list' })
  .default([])

const step = table({
  name: text,
  agent: agent.prefault({}),
  verifier: verifier.prefault({}),
  min_reward: z.union([number, z.record(z.string(), number)], { error: 'a number, or a table of numbers' }).optional(),
  healthcheck: healthcheck.optional(),
  artifacts,
})

const author = table({ name: text, email: text.optional() })
const packageTable = table({
  name: text,
  version: text.optional(),
  description: text.default(''),
  authors: z.array(author, { error: 'a list of tables' }).default([]),
  keywords: texts.default([]),
})

/**
 * The format of task.toml, for all schema versions; values whose default depends on the version have no default here.
 */
export const taskTomlSchema = table({
  schema_version: text.optional(),
  version: text.optional(),
  source: text.optional(),
  multi_step_reward_strategy: z.enum(['mean', 'final'], { error: 'mean or final' }).optional(),
  artifacts,
  task: packageTable.optional(),
  metadata: z.record(z.string(), z.unknown(), { error: 'a table' }).default({}),
  verifier: verifier.prefault({}),
  agent: agent.prefault({}),
  environment: environment.prefault({}),
  solution: table({ env: env.default({}) }).prefault({}),
  steps: z.array(step, { error: 'a list of tables' }).default([]),
})

export type TaskToml = z.output<typeof taskTomlSchema>
export type EnvironmentToml = z.output<typeof environment>
export type VerifierToml = z.output<typeof verifier>
export type AgentToml = z.output<typeof agent>
export type StepToml = z.output<typeof step>
export type ArtifactToml = z.output<typeof artifacts>[number]
export type HealthcheckToml = z.output<typeof healthcheck>
export type McpServerToml = z.output<typeof mcpServer>

/** Reports that a key of task.toml is wrong: what was expected, then what was found. Never returns. */
export type Refuse = (key: string, expected: string, got: unknown, hint?: string) => never

/** A `Refuse` for one file. */
export function refuseIn(file: string): Refuse {
  return (key, expected, got, hint) => {
    throw new UserError(`${file}: ${key}: expected ${expected}, got ${show(got)}`, hint ?? `correct ${key} in ${file}`)
  }
}

/** A value shortened to fit a message line. */
function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  // JSON cannot represent large integers, infinity and the like.
  const plain = (_: string, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner)
  const bare = typeof value === 'bigint' || typeof value === 'number'
  const text = bare ? String(value) : (JSON.stringify(value, plain) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** Refuses the first problem a schema found in `raw`; the schema's messages say what was expected. */
export function refuseIssue(error: z.ZodError, raw: unknown, refuse: Refuse): never {
  const issue = error.issues[0]
  const path = issue?.path ?? []
  return refuse(keyOf(path) || 'the file', issue?.message ?? 'a task', valueAt(raw, path))
}

/** Formats a path as `steps[1].agent.timeout_sec`. */
function keyOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, part) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, part)
    return inside ? (value as Record<PropertyKey, unknown>)[part] : undefined
  }, raw)
}
