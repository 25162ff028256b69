// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose fills these in.
import { posix } from 'node:path'
import { renderYaml } from '../../lib/render-yaml.ts'
import { isBenchVolume, isKeepAlive, type Service, simpleBuild } from './service.ts'

interface Compose {
  readonly services: Readonly<Record<string, Service>>
}

/** A compose file for Harbor: the agent's service is `main` and leaves to Harbor what Harbor does. */
export function rewriteCompose(compose: Compose, mainName: string, taskName: string): string {
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

/** Harbor builds `environment/Dockerfile` by itself; any other build is said relative to that folder. */
function mainBuild(build: unknown): Service | null {
  const given = typeof build === 'string' ? { context: build } : build
  if (typeof given !== 'object' || given === null) return null
  const simple = simpleBuild(given)
  if (simple?.context === '.' && simple.dockerfile === 'Dockerfile') return null
  const context = 'context' in given && typeof given.context === 'string' ? posix.normalize(given.context) : '.'
  return { ...given, context: context === '.' ? '${CONTEXT_DIR}' : posix.join('${CONTEXT_DIR}', context) }
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

/** A list of services or a map by service; a link may add `:alias`. */
function renameIn(references: unknown, from: string): unknown {
  const rename = (name: unknown) => {
    const [service, ...alias] = String(name).split(':')
    return service === from ? ['main', ...alias].join(':') : name
  }
  if (Array.isArray(references)) return references.map(rename)
  if (typeof references !== 'object' || references === null) return references
  return Object.fromEntries(Object.entries(references).map(([name, how]) => [rename(name), how]))
}

/** Gives the benchmark's variables the values they have in a Harbor sandbox; others stay, for a person to see. */
function fillBenchVariables(text: string, taskName: string): string {
  const values: Record<string, string> = {
    T_BENCH_TEST_DIR: '/tests',
    T_BENCH_CONTAINER_LOGS_PATH: '/logs',
    T_BENCH_CONTAINER_AGENT_LOGS_PATH: '/agent-logs',
    T_BENCH_TASK_DOCKER_NAME_PREFIX: taskName,
  }
  return text.replace(/\$\{(T_BENCH_\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}
