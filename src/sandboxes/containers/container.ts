import { BoundaryError } from '../../core/errors.ts'
import type { ToolDir } from '../../core/sandbox.ts'
import type { Environment, Network } from '../../core/task.ts'
import { sleep } from '../../lib/deadline.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import { inspectContainer } from './container-state.ts'
import type { EngineImage } from './images.ts'
import { droppedCapabilities, noNewPrivileges } from './rights.ts'

export interface ContainerSpec {
  readonly name: string
  readonly image: string
  readonly labels: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  /** The image's own program with its arguments, started next to ours; empty for none. */
  readonly program: readonly string[]
  /** The engine's volumes, by mount path. */
  readonly volumes: readonly MountedVolume[]
  readonly toolDirs: readonly ToolDir[]
  readonly network: string
  readonly limits: Limits
  readonly gpus: number
  readonly gpuDevices: boolean
  /** A file with the allowed system calls, in place of the engine's default. */
  readonly seccompProfile: string | null
  /** When a shell waits on the streams of process 1: what process 1 prints once that shell is gone. Otherwise null. */
  readonly channel: string | null
}

export interface MountedVolume {
  readonly name: string
  readonly path: string
  /** Whether it starts with the image's content at that path. */
  readonly filled: boolean
}

export interface Limits {
  readonly cpus?: number
  readonly memoryMb?: number
  readonly pids: number
  readonly storageMb?: number
}

/**
 * Process 1: no signal from inside ends it, it reaps orphans, and when its sleep ends for any reason, it starts
 * another. The image's own program runs next to it.
 */
const stay = 'while :; do /bin/sleep 1000000000 & wait $!; done'
const keeper = `if [ $# -gt 0 ]; then "$@" & fi; ${stay}`

/** With this exit code the shell on the streams of process 1 asks process 1 to end. */
export const endCode = 86

/**
 * The same with a shell that has the container's streams, in the foreground: in the background it would ignore signals
 * that its commands may need. When that shell is gone, process 1 says so, because the engine keeps the streams open.
 * The halves of its message are passed in reverse order, so that no process list shows the whole message.
 */
const channelKeeper = [
  'b=$1 a=$2; shift 2; exec 3<&0 4>&1 5>&2 </dev/null >/dev/null 2>&1',
  'if [ $# -gt 0 ]; then "$@" 3<&- 4>&- 5>&- & fi',
  '/bin/sh <&3 >&4 2>&5 3<&- 4>&- 5>&-',
  `[ $? -ne ${endCode} ] || exit 0`,
  'printf %s%s $a $b >&4; exec 3<&- 4>&- 5>&-',
  stay,
].join('; ')

/** What a sandbox's container runs to stay up; `program` is started next to it. `channel`: as for a container. */
export function mainCommand(
  program: readonly string[],
  channel: string | null = null,
): { entrypoint: readonly string[]; command: readonly string[] } {
  if (channel === null) return { entrypoint: ['/bin/sh', '-c', keeper, 'sh'], command: program }
  const half = channel.length / 2
  return {
    entrypoint: ['/bin/sh', '-c', channelKeeper, 'sh'],
    command: [channel.slice(half), channel.slice(0, half), ...program],
  }
}

/** The image's own program as Docker would run it, with a command that only waits. */
export function waitingProgram(entrypoint: readonly string[]): readonly string[] {
  return entrypoint.length > 0 ? [...entrypoint, 'sh', '-c', 'sleep infinity'] : []
}

/** Starts a created container. */
export async function startContainer(engine: ContainerEngine, spec: ContainerSpec): Promise<void> {
  await engine.ask({ method: 'POST', path: url`/containers/${spec.name}/start` }).catch((error: unknown) => {
    throw blameGpu(blameImage(error, spec), spec)
  })
}

/** Creates a container. If this throws, one with that name may exist: the caller removes it. */
export async function createContainer(engine: ContainerEngine, spec: ContainerSpec): Promise<void> {
  const { entrypoint, command } = mainCommand(spec.program, spec.channel)
  const json = {
    Image: spec.image,
    Labels: spec.labels,
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    User: spec.user,
    Entrypoint: entrypoint,
    Cmd: command,
    // The lease's owner runs the health check; the engine must not run it a second time.
    Healthcheck: { Test: ['NONE'] },
    OpenStdin: spec.channel !== null,
    Tty: false,
    HostConfig: hostConfig(spec),
  }
  const path = '/containers/create'
  await engine.ask({ method: 'POST', path, query: { name: spec.name }, json }).catch((error: unknown) => {
    throw blameGpu(error, spec)
  })
}

function hostConfig({ limits, ...spec }: ContainerSpec) {
  const { cpus, memoryMb, pids, storageMb } = limits
  return {
    NetworkMode: spec.network,
    PidsLimit: pids,
    ...(cpus !== undefined && { NanoCpus: Math.round(cpus * 1e9) }),
    // No extra swap: otherwise the same amount again could be swapped before the limit takes effect.
    ...(memoryMb !== undefined && { Memory: memoryMb * 2 ** 20, MemorySwap: memoryMb * 2 ** 20 }),
    ...(storageMb !== undefined && { StorageOpt: { size: `${storageMb}M` } }),
    ...gpuConfig(spec.gpus, spec.gpuDevices),
    CapDrop: droppedCapabilities,
    SecurityOpt: [noNewPrivileges, ...(spec.seccompProfile ? [`seccomp=${spec.seccompProfile}`] : [])],
    Binds: [
      ...spec.volumes.map(({ name, path, filled }) => `${name}:${path}${filled ? '' : ':nocopy'}`),
      ...spec.toolDirs.map(({ source, target }) => `${source}:${target}:ro`),
    ],
    RestartPolicy: { Name: 'no' },
    // Output of process 1 and of the image's own program is not read.
    LogConfig: { Type: 'none' },
  }
}

/** Podman takes GPUs as devices of the container device interface; Docker requests them from its runtime. */
function gpuConfig(gpus: number, asDevices: boolean) {
  if (gpus === 0) return {}
  if (!asDevices) return { DeviceRequests: [{ Driver: '', Count: gpus, Capabilities: [['gpu']] }] }
  const names = Array.from({ length: gpus }, (_, index) => `nvidia.com/gpu=${index}`)
  return { Devices: names.map((name) => ({ PathOnHost: name, PathInContainer: name, CgroupPermissions: 'rwm' })) }
}

function blameGpu(error: unknown, { gpus }: ContainerSpec): unknown {
  if (gpus === 0 || !(error instanceof BoundaryError)) return error
  return new BoundaryError(
    'sandbox',
    `${error.message}\nthe task asks for GPUs (${gpus}), which this container engine supports only with the NVIDIA container toolkit`,
    {
      retryable: false,
      cause: error,
    },
  )
}

function blameImage(error: unknown, { image }: ContainerSpec): unknown {
  if (
    !(error instanceof BoundaryError) ||
    !/"(\/bin\/)?sh"|exec: "?(\/bin\/)?sh"?|executable file not found/.test(error.message)
  )
    return error
  return new BoundaryError('task', `the image ${image} has no /bin/sh, which every sandbox needs`, {
    retryable: false,
    cause: error,
  })
}

/** Ends every process of a container; its files stay. */
export async function stopContainer(engine: ContainerEngine, name: string): Promise<void> {
  await engine.ask({ method: 'POST', path: url`/containers/${name}/stop`, query: { t: 0 }, accept: [304, 404] })
}

/** How long a container may take to end by itself. */
const endMs = 1000

/** Waits for a container that was asked to end by itself; false if it does not. */
export async function awaitEnd(engine: ContainerEngine, name: string): Promise<boolean> {
  const query = { condition: 'not-running' }
  const signal = AbortSignal.timeout(endMs)
  return engine.ask({ method: 'POST', path: url`/containers/${name}/wait`, query, signal }).then(
    // An engine that goes away meanwhile has answered with success already, and says nothing or another code then.
    ({ body }) => Object(body).StatusCode === 0,
    () => false,
  )
}

/** Removes a container in any state; one that does not exist is fine. */
export async function removeContainer(engine: ContainerEngine, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { status } = await engine.ask({
      method: 'DELETE',
      path: url`/containers/${name}`,
      query: { force: true, v: true },
      accept: [404, 409, 500],
    })
    if (status < 400 || status === 404) return
    // Another removal is in progress, or a process is not dead yet.
    if (attempt === 20) throw new BoundaryError('sandbox', `${engine.name} could not remove ${name} (${status})`)
    await sleep(100 * attempt)
    if ((await inspectContainer(engine, name)) === null) return
  }
}

export async function makeVolume(
  engine: ContainerEngine,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  await engine.ask({ method: 'POST', path: '/volumes/create', json: { Name: name, Labels: labels } })
}

export async function removeVolume(engine: ContainerEngine, name: string): Promise<void> {
  await engine.ask({ method: 'DELETE', path: url`/volumes/${name}`, query: { force: true }, accept: [404, 409, 500] })
}

export async function removeImage(engine: ContainerEngine, name: string): Promise<void> {
  await engine.ask({
    method: 'DELETE',
    path: url`/images/${name}`,
    query: { force: true },
    accept: [404, 409, 500],
  })
}

/** Keeps a stopped container's files as an image. */
export async function commitContainer(
  engine: ContainerEngine,
  name: string,
  image: { repo: string; tag: string },
): Promise<void> {
  await engine.ask({
    method: 'POST',
    path: '/commit',
    query: { container: name, repo: image.repo, tag: image.tag, pause: false },
    json: {},
  })
}

/** The engine's name for a task's network. */
export function networkMode(network: Network, publicNetwork: string): string {
  return network.mode === 'public' ? publicNetwork : 'none'
}

/** The directories that a container of the image needs as volumes, named after the container. */
export function volumesFor(name: string, image: EngineImage): MountedVolume[] {
  return image.volumes.map((path, index) => ({ name: `${name}-volume-${index}`, path, filled: true }))
}

/** The task's limits, in the engine's terms. */
export function limitsOf({ cpus, memoryMb, storageMb }: Environment, pids: number, storage: boolean): Limits {
  return {
    pids,
    ...(cpus && { cpus }),
    ...(memoryMb && { memoryMb }),
    ...(storage && storageMb && { storageMb }),
  }
}
