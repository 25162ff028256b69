import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { codeOf } from '../../lib/files.ts'

type Env = Readonly<Record<string, string | undefined>>

/** A kind of engine: its name and the usual places of its socket. */
export interface EngineKind {
  readonly name: 'docker' | 'podman'
  /** Variables that name a socket as `unix:///path`. */
  readonly variables: readonly string[]
  readonly places: (env: Env) => readonly string[]
  /** Whether GPUs are requested as devices of the container device interface. */
  readonly gpuDevices: boolean
  /**
   * A profile of system calls that lets programs make namespaces, to be tightened; null if the engine's own does not.
   */
  readonly looseProfile: string | null
  /** Whether a container made without a network can get one while it runs, and vice versa. */
  readonly networkPerPhase: boolean
  /** Whether containers on one network always find each other by name. */
  readonly resolvesNames: boolean
  /**
   * Whether its list of changes has every file that its image of a container has. Docker's list goes by a file's size
   * and time.
   */
  readonly listsEveryChange: boolean
  /**
   * Whether it reports at once that a container ended by itself. Podman checks a few times a second, and has trouble
   * with ends that it did not request.
   */
  readonly noticesEnds: boolean
  readonly startHint: string
  readonly permissionHint: string
}

export const dockerKind: EngineKind = {
  name: 'docker',
  variables: ['DOCKER_HOST'],
  places: ({ HOME = '/root', XDG_RUNTIME_DIR }) => [
    '/var/run/docker.sock',
    ...(XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, 'docker.sock')] : []),
    join(HOME, '.docker/run/docker.sock'),
  ],
  gpuDevices: false,
  looseProfile: null,
  networkPerPhase: true,
  resolvesNames: true,
  listsEveryChange: false,
  noticesEnds: true,
  startHint:
    'start it (sudo systemctl start docker), or name its socket: --ek socket=/path/to/docker.sock or DOCKER_HOST=unix:///path',
  permissionHint: 'join the group docker (sudo usermod -aG docker $USER, then log in again), or run as root',
}

export const podmanKind: EngineKind = {
  name: 'podman',
  variables: ['CONTAINER_HOST', 'DOCKER_HOST'],
  places: ({ XDG_RUNTIME_DIR }) => [
    ...(XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, 'podman/podman.sock')] : []),
    `/run/user/${process.getuid?.() ?? 0}/podman/podman.sock`,
    '/run/podman/podman.sock',
  ],
  gpuDevices: true,
  looseProfile: '/usr/share/containers/seccomp.json',
  networkPerPhase: false,
  resolvesNames: false,
  listsEveryChange: true,
  noticesEnds: false,
  startHint:
    'start it (systemctl --user start podman.socket, or podman system service --time=0), or name its socket: --ek socket=/path/to/podman.sock',
  permissionHint: 'use your own service (systemctl --user start podman.socket), or run as root',
}

/** The engine's socket: the requested one, the one a variable names, or the first that exists. */
export async function findSocket(kind: EngineKind, asked: string | undefined, env: Env): Promise<string> {
  const named = asked ?? kind.variables.map((name) => env[name]).find((value) => value !== undefined && value !== '')
  if (named !== undefined && /^[a-z]+:\/\//.test(named) && !named.startsWith('unix://'))
    throw new UserError(`${kind.name} is at ${named}, but only unix sockets are supported`, kind.startHint)
  const candidates = named === undefined ? kind.places(env) : [named.replace(/^unix:\/\//, '')]
  for (const path of candidates) if (await isSocket(path)) return usable(kind, path)
  throw new UserError(`expected a ${kind.name} socket, found none at ${candidates.join(', ')}`, kind.startHint)
}

async function isSocket(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: unknown) => (codeOf(error) === 'EACCES' ? 'hidden' : null))
  return found === 'hidden' || found?.isSocket() === true
}

async function usable(kind: EngineKind, path: string): Promise<string> {
  await access(path, constants.R_OK | constants.W_OK).catch(() => {
    throw new UserError(`no permission to use the ${kind.name} socket ${path}`, kind.permissionHint)
  })
  return path
}
