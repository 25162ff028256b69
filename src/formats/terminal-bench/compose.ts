import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { rewriteCompose } from './compose-main.ts'
import { isBenchVolume, isKeepAlive, isLiteral, type Service, simpleBuild, simpleEnv, simpleLimits } from './service.ts'
import { parseYaml } from './task-yaml.ts'

/** How the environment of a task comes to be. */
export type EnvironmentPlan =
  /** One container: a Dockerfile says it all. The context is relative to the task, the Dockerfile to the context. */
  | { readonly kind: 'dockerfile'; readonly context: string; readonly dockerfile: string; readonly extras: Extras }
  /** One container straight from an image. */
  | { readonly kind: 'image'; readonly image: string; readonly extras: Extras }
  /** Several containers, or one with needs of its own: the compose file is kept, with `main` for the agent's service. */
  | { readonly kind: 'compose'; readonly text: string; readonly image: string | undefined }

export interface Extras {
  readonly env: Readonly<Record<string, string>>
  readonly workdir?: string
  readonly cpus?: number
  readonly memoryMb?: number
}

const composeSchema = z.looseObject({ services: z.record(z.string(), z.record(z.string(), z.unknown())) })

/** Decides what becomes of a docker-compose.yaml. */
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

/** Keys that say nothing a Dockerfile and task.toml could not say. */
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
