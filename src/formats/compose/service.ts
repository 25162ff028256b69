import { realpath } from 'node:fs/promises'
import { posix, resolve, sep } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import { readInside } from '../dockerfile/context.ts'
import { type ComposeMount, readMount } from './mounts.ts'
import { composeError, readCommand, readList, readMap } from './words.ts'

export interface ComposeBuild {
  /** An absolute path inside the environment. */
  readonly context: string
  /** Relative to the context. */
  readonly dockerfile: string
  readonly args: Readonly<Record<string, string>>
  readonly target: string | undefined
}

/** One service of a compose file, confined to its container. */
export interface ComposeService {
  readonly image: string | undefined
  readonly build: ComposeBuild | undefined
  readonly entrypoint: readonly string[] | undefined
  readonly command: readonly string[] | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly mounts: readonly ComposeMount[]
  readonly networkMode: string | undefined
  /** Keys passed to the compose command unchanged. */
  readonly rest: Readonly<Record<string, unknown>>
}

export interface ServicePlace {
  readonly dir: string
  readonly path: string
  readonly name: string
  readonly volumes: readonly string[]
  readonly note: (line: string) => void
}

const passed = new Set(
  (
    'cap_drop cpu_count cpu_percent cpu_period cpu_quota cpu_shares cpus cpuset depends_on dns dns_search domainname expose extra_hosts ' +
    'group_add healthcheck hostname init links mem_limit mem_reservation memswap_limit networks pids_limit profiles read_only restart ' +
    'shm_size stdin_open stop_grace_period stop_signal sysctls tmpfs tty ulimits user working_dir'
  ).split(' '),
)
/** Keys that we parse ourselves. */
const readKeys = new Set(
  'image build entrypoint command environment env_file volumes network_mode cap_add security_opt privileged ipc pid deploy'.split(
    ' ',
  ),
)
/** Meaningless in a sandbox, where several trials of a task run side by side. */
const ignored = new Set('container_name logging pull_policy attach platform labels annotations stdin'.split(' '))
/** Capabilities that only affect the container itself. */
const capabilities = new Set(
  'SYS_PTRACE NET_ADMIN NET_BIND_SERVICE NET_RAW IPC_LOCK SYS_NICE CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD SETGID SETUID SETFCAP SETPCAP SYS_CHROOT KILL AUDIT_WRITE'.split(
    ' ',
  ),
)

/** Parses a service; a key that is unknown or could reach beyond its container is refused by name. */
export async function readService(
  raw: Readonly<Record<string, unknown>>,
  place: ServicePlace,
): Promise<ComposeService> {
  const { path, name, note, dir, volumes } = place
  const fail = (what: string) => composeError(path, `services.${name}.${what}`)
  const at = (key: string) => (what: string) => fail(`${key}: ${what}`)
  for (const key of Object.keys(raw)) {
    if (passed.has(key) || readKeys.has(key) || ignored.has(key) || key.startsWith('x-')) continue
    if (key === 'ports') note(`the ports of service ${name} are not published on the host`)
    else throw fail(`${key} is not supported: it could reach beyond the sandbox`)
  }
  refuseReach(raw, fail)
  const mounts = z.array(z.unknown()).nullish().safeParse(raw.volumes)
  if (!mounts.success) throw fail('volumes: expected a list')
  const add = readList(raw.cap_add, at('cap_add')).map((word) => word.toUpperCase().replace(/^CAP_/, ''))
  const bad = add.find((word) => !capabilities.has(word))
  if (bad !== undefined) throw fail(`cap_add: ${bad} could reach beyond the sandbox`)
  const rest = Object.fromEntries(Object.entries(raw).filter(([key]) => passed.has(key)))
  return {
    image: raw.image === undefined ? undefined : String(raw.image),
    build: raw.build === undefined ? undefined : await readBuild(raw.build, dir, at('build')),
    entrypoint: readCommand(raw.entrypoint, at('entrypoint')),
    command: readCommand(raw.command, at('command')),
    environment: {
      ...(await readEnvFiles(readList(raw.env_file, at('env_file')), dir, at('env_file'))),
      ...readMap(raw.environment, at('environment')),
    },
    mounts: await Promise.all((mounts.data ?? []).map((value) => readMount(value, { dir, volumes, fail }))),
    networkMode: raw.network_mode === 'bridge' ? undefined : (raw.network_mode as string | undefined),
    rest: {
      ...rest,
      ...limitsOfDeploy(raw.deploy),
      ...(add.length > 0 && { cap_add: add }),
      ...(typeof raw.ipc === 'string' && { ipc: raw.ipc }),
      ...(typeof raw.pid === 'string' && { pid: raw.pid }),
    },
  }
}

function refuseReach(raw: Readonly<Record<string, unknown>>, fail: (what: string) => Error): void {
  if (raw.privileged !== undefined && raw.privileged !== false) throw fail('privileged would give access to the host')
  const allowed: Record<string, RegExp> = {
    network_mode: /^(none|bridge|service:[\w.-]+)$/,
    ipc: /^(private|shareable|service:[\w.-]+)$/,
    pid: /^service:[\w.-]+$/,
  }
  for (const [key, pattern] of Object.entries(allowed)) {
    const value = raw[key]
    if (value !== undefined && !(typeof value === 'string' && pattern.test(value)))
      throw fail(`${key}: ${JSON.stringify(value)} could reach beyond the sandbox`)
  }
  for (const option of readList(raw.security_opt, (what) => fail(`security_opt: ${what}`)))
    if (!/^no-new-privileges([:=]true)?$/.test(option))
      throw fail(`security_opt: ${option} could reach beyond the sandbox`)
}

const buildSchema = z.strictObject({
  context: z.string().default('.'),
  dockerfile: z.string().default('Dockerfile'),
  args: z.unknown().optional(),
  target: z.string().optional(),
  labels: z.unknown().optional(),
})

async function readBuild(value: unknown, dir: string, fail: (what: string) => Error): Promise<ComposeBuild> {
  const build = buildSchema.safeParse(typeof value === 'string' ? { context: value } : value)
  if (!build.success) throw fail('only context, dockerfile, args and target are supported')
  const { context, dockerfile, args, target } = build.data
  const [root, real] = [await realpath(dir), await realpath(resolve(dir, context)).catch(() => null)]
  if (real === null || (real !== root && !real.startsWith(`${root}${sep}`)))
    throw fail(`context ${JSON.stringify(context)} is not in the task’s environment`)
  const file = posix.normalize(dockerfile)
  if (/^(\/|\.\.(\/|$))/.test(file)) throw fail(`dockerfile ${JSON.stringify(dockerfile)} is not in its context`)
  return { context: real, dockerfile: file, args: readMap(args, fail), target }
}

async function readEnvFiles(
  names: readonly string[],
  dir: string,
  fail: (what: string) => Error,
): Promise<Record<string, string>> {
  const read: Record<string, string> = {}
  for (const name of names) {
    const path = posix.normalize(name)
    if (/^(\/|\.\.(\/|$))/.test(path)) throw fail(`${JSON.stringify(name)} is not in the task’s environment`)
    const text = await readInside(dir, path).catch((error: unknown) => {
      throw fail(messageOf(error))
    })
    if (text === null) throw fail(`there is no ${JSON.stringify(name)}`)
    for (const line of text.split(/\r?\n/)) {
      const match = /^\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)$/.exec(line)
      if (match?.[1] !== undefined) read[match[1]] = (match[2] ?? '').trim().replace(/^(["'])(.*)\1$/, '$2')
    }
  }
  return read
}

const deploySchema = z.object({
  resources: z.object({
    limits: z.object({
      cpus: z.coerce.number().optional(),
      memory: z.union([z.string(), z.number()]).optional(),
      pids: z.number().optional(),
    }),
  }),
})

function limitsOfDeploy(deploy: unknown): Record<string, unknown> {
  const limits = deploySchema.safeParse(deploy).data?.resources.limits
  return {
    ...(limits?.cpus !== undefined && { cpus: limits.cpus }),
    ...(limits?.memory !== undefined && { mem_limit: limits.memory }),
    ...(limits?.pids !== undefined && { pids_limit: limits.pids }),
  }
}
