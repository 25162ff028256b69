import { posix } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { isBenchVolume, isKeepAlive, isLiteral, type Service, simpleBuild, simpleEnv, simpleLimits } from './service.ts'
import { parseYaml } from './task-yaml.ts'

// biome-ignore lint/suspicious/noTemplateCurlyInString: Compose fills it in.
const contextDir = '${CONTEXT_DIR}'

/** How a task's environment is made. */
export type EnvironmentPlan =
  /** One container from a Dockerfile. The context is relative to the task, the Dockerfile to the context. */
  | { readonly kind: 'dockerfile'; readonly context: string; readonly dockerfile: string; readonly extras: Extras }
  /** One container straight from an image. */
  | { readonly kind: 'image'; readonly image: string; readonly extras: Extras }
  /** Several containers, or one with special needs: the compose file is kept, with the agent's service named `main`. */
  | { readonly kind: 'compose'; readonly text: string; readonly image: string | undefined }

export interface Extras {
  readonly env: Readonly<Record<string, string>>
  readonly workdir?: string
  readonly cpus?: number
  readonly memoryMb?: number
}

const composeSchema = z.looseObject({ services: z.record(z.string(), z.record(z.string(), z.unknown())) })

/** Decides what a docker-compose.yaml becomes. */
export function planEnvironment(text: string, file: string, taskName: string): EnvironmentPlan {
  const parsed = composeSchema.safeParse(parseYaml(text, file))
  if (!parsed.success) throw new UserError(`${file}: expected services, found none`, `correct ${file}`)
  const { services, version: _, ...rest } = parsed.data
  const names = Object.keys(services)
  const mainName = names.includes('client') ? 'client' : names.length === 1 ? names[0] : undefined
  const main = mainName === undefined ? undefined : services[mainName]
  if (mainName === undefined || main === undefined) {
    const found = names.join(', ') || 'none'
    throw new UserError(`${file}: expected a service called client, found ${found}`, `correct ${file}`)
  }
  const isAlone = names.length === 1 && Object.keys(rest).length === 0
  const simple = isAlone ? planSimple(main) : null
  if (simple) return simple
  const image = main.build === undefined && isLiteral(main.image) ? main.image : undefined
  return { kind: 'compose', text: rewriteCompose({ ...rest, services }, mainName, taskName), image }
}

/** Keys whose content a Dockerfile and task.toml can express. */
const simpleKeys = new Set([
  ...['build', 'image', 'container_name', 'command', 'environment'],
  ...['volumes', 'working_dir', 'tty', 'stdin_open'],
  ...['deploy', 'cpus', 'mem_limit'],
])

function planSimple(service: Service): EnvironmentPlan | null {
  const { build, image, command, volumes, working_dir: workdir } = service
  const env = simpleEnv(service.environment)
  const limits = simpleLimits(service)
  const isSimple =
    Object.keys(service).every((key) => simpleKeys.has(key)) &&
    (volumes === undefined || (Array.isArray(volumes) && volumes.every(isBenchVolume))) &&
    (command === undefined || isKeepAlive(command))
  if (!isSimple || env === null || limits === null || (workdir !== undefined && !isLiteral(workdir))) return null
  const extras = { env, ...limits, ...(workdir !== undefined && { workdir }) }
  const fromBuild = build === undefined ? null : simpleBuild(build)
  if (fromBuild) return { kind: 'dockerfile', ...fromBuild, extras }
  return build === undefined && isLiteral(image) ? { kind: 'image', image, extras } : null
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
}

/** A compose file for Harbor: the agent's service is `main`, and everything Harbor does itself is removed. */
function rewriteCompose(compose: Compose, mainName: string, taskName: string): string {
  const services = Object.entries(compose.services).map(([name, service]) => {
    const pointed = renameReferences(service, mainName)
    return name === mainName ? ['main', toMain(pointed)] : [name, pointed]
  })
  return fillBenchVariables(renderYaml({ ...compose, services: Object.fromEntries(services) }), taskName)
}

function toMain(service: Service): Service {
  const { container_name: _, image: __, command, volumes, build, ...rest } = service
  const ownVolumes = Array.isArray(volumes) ? volumes.filter((volume) => !isBenchVolume(volume)) : []
  const ownBuild = mainBuild(build)
  return {
    ...rest,
    ...(ownBuild === null ? {} : { build: ownBuild }),
    ...(command === undefined || isKeepAlive(command) ? {} : { command }),
    ...(ownVolumes.length === 0 ? {} : { volumes: ownVolumes }),
  }
}

/** Harbor builds `environment/Dockerfile` on its own; any other build is given relative to that folder. */
function mainBuild(build: unknown): Service | null {
  const given = typeof build === 'string' ? { context: build } : build
  if (typeof given !== 'object' || given === null) return null
  const simple = simpleBuild(given)
  if (simple?.context === '.' && simple.dockerfile === 'Dockerfile') return null
  const context = 'context' in given && typeof given.context === 'string' ? posix.normalize(given.context) : '.'
  return { ...given, context: context === '.' ? contextDir : posix.join(contextDir, context) }
}

function renameReferences(service: Service, from: string): Service {
  const { depends_on: dependsOn, links, network_mode: networkMode } = service
  return {
    ...service,
    ...(dependsOn === undefined ? {} : { depends_on: renameIn(dependsOn, from) }),
    ...(links === undefined ? {} : { links: renameIn(links, from) }),
    ...(networkMode === `service:${from}` ? { network_mode: 'service:main' } : {}),
  }
}

/** Renames a service in a list, or in a map by service; a link may add `:alias`. */
function renameIn(references: unknown, from: string): unknown {
  const rename = (name: unknown) => {
    const [service, ...alias] = String(name).split(':')
    return service === from ? ['main', ...alias].join(':') : name
  }
  if (Array.isArray(references)) return references.map(rename)
  if (typeof references !== 'object' || references === null) return references
  return Object.fromEntries(Object.entries(references).map(([name, how]) => [rename(name), how]))
}

/** Fills the benchmark's variables with their values in a Harbor sandbox; others stay, for the user to see. */
function fillBenchVariables(text: string, taskName: string): string {
  const values: Record<string, string> = {
    T_BENCH_TEST_DIR: '/tests',
    T_BENCH_CONTAINER_LOGS_PATH: '/logs',
    T_BENCH_CONTAINER_AGENT_LOGS_PATH: '/agent-logs',
    T_BENCH_TASK_DOCKER_NAME_PREFIX: taskName,
  }
  return text.replace(/\$\{(T_BENCH_\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}
