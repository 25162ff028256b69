import { createHash } from 'node:crypto'
import { type ComposeFile, mainService } from '../../../formats/compose/load.ts'
import type { ComposeService } from '../../../formats/compose/service.ts'
import { type ContainerSpec, mainCommand } from '../container.ts'
import type { EngineImage } from '../images.ts'
import { droppedCapabilities, noNewPrivileges } from '../rights.ts'
import { closedSettings } from './closed.ts'

export interface RenderOptions {
  /** Its name, which is the prefix of its networks' names. */
  readonly project: string
  readonly file: ComposeFile
  /** By service. */
  readonly images: ReadonlyMap<string, EngineImage>
  /** The main container, which gets the task's limits. */
  readonly main: ContainerSpec
  /** Files of the environment that are directories, by path. */
  readonly directories: ReadonlySet<string>
  /** Whether only the other services may be reached. */
  readonly closed: boolean
}

interface Rendered extends Readonly<Record<string, unknown>> {
  readonly volumes?: readonly unknown[]
}

/** The file for the compose command: every container has our labels, and nothing is left to build or fill in. */
export function renderProject(options: RenderOptions): object {
  const { file, main, project } = options
  const { labels } = main
  const services = Object.entries(file.services).map(([name, service]) => {
    const common = { ...renderService(name, service, options), labels }
    return [name, name === mainService ? renderMain(common, main, isAlone(file)) : common]
  })
  const shared = Object.fromEntries(volumeNames(file, options.directories).map((name) => [name, { labels }]))
  const own = Object.fromEntries(main.volumes.map(({ name }) => [name, { name, external: true }]))
  const networks = networksOf(file, project).map(({ name, fullName }) => [name, { external: true, name: fullName }])
  return {
    version: '3.9',
    services: Object.fromEntries(services),
    volumes: { ...shared, ...own },
    ...(!isAlone(file) && { networks: Object.fromEntries(networks) }),
  }
}

/** The networks that services of a file use. A single service needs no network between services. */
export function networksOf(file: ComposeFile, project: string): ProjectNetwork[] {
  if (isAlone(file)) return []
  const services = Object.values(file.services)
  const used = new Set(services.flatMap(({ rest, networkMode }) => (networkMode ? [] : namesOf(rest.networks))))
  return Object.entries({ default: {}, ...file.networks })
    .filter(([name]) => used.has(name))
    .map(([name, more]) => ({ name, fullName: `${project}-net-${name}`, isInternal: 'internal' in more }))
}

/** Whether the agent's is the only service. */
function isAlone({ services }: ComposeFile): boolean {
  return Object.keys(services).length === 1
}

export interface ProjectNetwork {
  readonly name: string
  /** The name in the engine. */
  readonly fullName: string
  readonly isInternal: boolean
}

function namesOf(networks: unknown): string[] {
  if (networks === undefined || networks === null) return ['default']
  return Array.isArray(networks) ? networks.map(String) : Object.keys(networks)
}

function renderService(name: string, service: ComposeService, options: RenderOptions): Rendered {
  const { file, images, main, directories, closed } = options
  const { rest, environment, entrypoint, command, networkMode, mounts } = service
  const volumes = mounts.flatMap((mount, index): readonly unknown[] => {
    if (mount.kind === 'tmpfs') return [{ type: 'tmpfs', target: mount.target }]
    if (mount.kind === 'anonymous') return [`${anonymousName(name, index)}:${mount.target}`]
    const mode = mount.readOnly ? ':ro' : ''
    if (mount.kind === 'volume') return [`${mount.name}:${mount.target}${mode}`]
    return directories.has(mount.source) ? [`${directoryName(mount.source)}:${mount.target}${mode}`] : []
  })
  return {
    ...rest,
    ...limitsWithin(rest, main),
    ...(closed && networkMode === undefined && !isAlone(file) && closedSettings(rest)),
    cap_drop: [...new Set([...dropped(rest), ...listOf(rest.cap_drop)])],
    security_opt: [noNewPrivileges],
    image: images.get(name)?.id,
    environment,
    ...(entrypoint && { entrypoint }),
    ...(command && { command }),
    ...(volumes.length > 0 && { volumes }),
    ...(networkMode !== undefined && { network_mode: networkMode }),
  }
}

/** The capabilities to drop: not those that the file adds by name. */
function dropped({ cap_add: added }: ComposeService['rest']): string[] {
  return droppedCapabilities.filter((name) => !listOf(added).includes(name))
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : value === undefined || value === null ? [] : [String(value)]
}

/**
 * A service's own limits where they are tighter than the sandbox's; otherwise the sandbox's, none of which can be
 * lifted.
 */
function limitsWithin(rest: ComposeService['rest'], { limits }: ContainerSpec): Record<string, unknown> {
  const tighter = (own: number | null, ours: number) => (own !== null && own > 0 && own < ours ? own : ours)
  const ourBytes = limits.memoryMb === undefined ? undefined : limits.memoryMb * 2 ** 20
  const bytes = ourBytes === undefined ? undefined : tighter(bytesOf(rest.mem_limit), ourBytes)
  const ownCpus = rest.cpus === undefined ? null : Number(rest.cpus)
  return {
    pids_limit: tighter(rest.pids_limit === undefined ? null : Number(rest.pids_limit), limits.pids),
    ...(bytes !== undefined && { mem_limit: bytes, memswap_limit: bytes }),
    ...(limits.cpus !== undefined && { cpus: tighter(ownCpus, limits.cpus), ...otherCpuKeys }),
  }
}

/** Other forms of the processor limit, which would contradict ours; undefined is not written to the file. */
const otherCpuKeys = { cpu_quota: undefined, cpu_period: undefined, cpu_count: undefined, cpu_percent: undefined }

/** Bytes as compose files write them, for example 64M, 1gb or a number; null for anything else. */
function bytesOf(value: unknown): number | null {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)b?$/i.exec(String(value ?? '').trim()) ?? []
  if (count === undefined) return null
  return Math.floor(Number(count) * 1024 ** ['', 'k', 'm', 'g', 't'].indexOf(unit.toLowerCase()))
}

/** The agent's container is set up like a single sandbox, plus what the file adds. */
function renderMain(service: Rendered, main: ContainerSpec, alone: boolean): Rendered {
  const { cpus, memoryMb, pids } = main.limits
  const { restart: _, networks, links, network_mode: mode, ...rest } = service
  const { entrypoint, command } = mainCommand(main.program)
  return {
    ...rest,
    // The lease's owner runs the health check.
    healthcheck: { disable: true },
    container_name: main.name,
    image: main.image,
    user: main.user,
    environment: main.env,
    entrypoint,
    command,
    pids_limit: pids,
    ...(cpus !== undefined && { cpus }),
    ...(memoryMb !== undefined && { mem_limit: `${memoryMb}m`, memswap_limit: `${memoryMb}m` }),
    volumes: [
      ...(service.volumes ?? []),
      ...main.volumes.map(({ name, path, filled }) => `${name}:${path}${filled ? '' : ':nocopy'}`),
      ...main.toolDirs.map(({ source, target }) => `${source}:${target}:ro`),
    ],
    ...(alone
      ? { network_mode: main.network }
      : {
          ...(mode !== undefined && { network_mode: mode }),
          ...(networks !== undefined && { networks }),
          ...(links !== undefined && { links }),
        }),
  }
}

/** The volumes that exist as long as the sandbox does. */
function volumeNames(file: ComposeFile, directories: ReadonlySet<string>): string[] {
  const anonymous = Object.entries(file.services).flatMap(([name, { mounts }]) =>
    mounts.flatMap((mount, index) => (mount.kind === 'anonymous' ? [anonymousName(name, index)] : [])),
  )
  return [...file.volumes, ...anonymous, ...[...directories].map(directoryName)]
}

function anonymousName(service: string, index: number): string {
  return `anonymous-${service}-${index}`
}

/** Services that share a directory of the environment share its volume. */
function directoryName(source: string): string {
  return `files-${createHash('sha256').update(source).digest('hex').slice(0, 16)}`
}
