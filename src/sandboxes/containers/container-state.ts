import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import { sleep } from '../../lib/deadline.ts'
import { type ContainerEngine, url } from './container-engine.ts'

const stateSchema = z.object({
  State: z.object({ Running: z.boolean(), Pid: z.number().nullish() }),
  Config: z.object({ Hostname: z.string().nullish(), Env: z.array(z.string()).nullish() }).nullish(),
  Mounts: z
    .array(z.object({ Type: z.string().nullish(), Source: z.string().nullish(), Destination: z.string() }))
    .nullish(),
  NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()).nullish() }).nullish(),
  GraphDriver: z.object({ Name: z.string(), Data: z.record(z.string(), z.unknown()).nullish() }).nullish(),
  HostsPath: z.string().nullish(),
})

export interface ContainerState {
  readonly running: boolean
  /** The pid of its process 1 on the engine's machine; 0 when it does not run. */
  readonly pid: number
  readonly networks: readonly string[]
  readonly hostname: string
  /** The environment of its programs, as `NAME=value`. */
  readonly env: readonly string[]
  /** The paths where something is mounted. */
  readonly mounts: readonly string[]
  /** Where the engine's machine keeps its volumes, by mount path. */
  readonly volumes: ReadonlyMap<string, string>
  /** Where the engine's machine keeps what programs changed; null if the engine does not say. */
  readonly layer: string | null
  /** Where that machine shows all its files, except mounts, while it runs; null if the engine does not say. */
  readonly merged: string | null
  /** Where the engine keeps its /etc/hosts. */
  readonly hostsPath: string | null
}

/** The state of a container; null when none has that name. */
export async function inspectContainer(engine: ContainerEngine, name: string): Promise<ContainerState | null> {
  const answer = await engine.ask({ method: 'GET', path: url`/containers/${name}/json`, accept: [404] })
  if (answer.status === 404) return null
  const { State, Config, Mounts, NetworkSettings, GraphDriver, HostsPath } = stateSchema.parse(answer.body)
  const overlay = /^overlay2?$/.test(GraphDriver?.Name ?? '') ? GraphDriver?.Data : null
  const volumes = Mounts?.filter(({ Type, Source }) => Type === 'volume' && Source?.startsWith('/')) ?? []
  return {
    running: State.Running,
    pid: State.Pid ?? 0,
    networks: Object.keys(NetworkSettings?.Networks ?? {}),
    hostname: Config?.Hostname ?? '',
    env: Config?.Env ?? [],
    mounts: Mounts?.map(({ Destination }) => Destination) ?? [],
    volumes: new Map(volumes.map(({ Source, Destination }) => [Destination, Source ?? ''])),
    layer: pathOrNull(overlay?.UpperDir),
    merged: pathOrNull(overlay?.MergedDir),
    hostsPath: HostsPath || null,
  }
}

function pathOrNull(value: unknown): string | null {
  return typeof value === 'string' && value.startsWith('/') ? value : null
}

interface Revival {
  /** Whether the container is no longer in use. */
  readonly isClosed: () => boolean
  /** Called with single lines of progress. */
  readonly log: (line: string) => void
}

/** Starts a container again when it has ended. */
export async function startAgain(engine: ContainerEngine, name: string, { isClosed, log }: Revival): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const state = isClosed() ? null : await inspectContainer(engine, name)
    if (isClosed() || state === null) throw gone()
    if (state.running) return
    const path = url`/containers/${name}/start`
    const { status } = await engine.ask({ method: 'POST', path, accept: [304, 404, 409, 500] })
    if (status < 400) return log('the container ended and was started again: a program inside ended its process 1')
    if (attempt === 5) throw gone()
    await sleep(100 * attempt)
  }
}

/** The sandbox's error once its container no longer exists. */
export function gone(): BoundaryError {
  return new BoundaryError('sandbox', 'the sandbox is gone: its container does not run', { code: 'SandboxGoneError' })
}
