import { join } from 'node:path'
import type { PluginContext } from '../../core/plugin.ts'
import type { SandboxAbilities, SandboxFacts, SandboxProvider, SandboxRequest } from '../../core/sandbox.ts'
import { type Base, directoryBase, hostBase } from './base.ts'
import { LocalLease } from './lease.ts'
import { findPrivileges } from './privileges.ts'
import { reap } from './reap.ts'
import { Workshop } from './workshop.ts'

export interface LocalOptions {
  readonly rootfs?: string | undefined
  readonly pids: number
}

const can: SandboxAbilities = {
  gpu: false,
  compose: false,
  images: false,
  windows: false,
  network: ['public', 'no-network'],
  networkPerPhase: true,
}

export function makeLocal(options: LocalOptions, context: PluginContext): SandboxProvider {
  const opened = lazily(async () => {
    const workshop = await Workshop.open(context.stateDir)
    await reap(workshop)
    const base = options.rootfs
      ? await directoryBase(options.rootfs)
      : await hostBase(join(workshop.home, 'bases'), workshop.privileges)
    return { workshop, base }
  })
  return {
    name: 'local',
    can,
    preflight: async () => void (await findPrivileges()),
    lease: async (request) => lease(await opened(), options, request),
    reap: async (how) => reap(await Workshop.open(context.stateDir), how),
  }
}

interface Opened {
  readonly workshop: Workshop
  readonly base: Base
}

async function lease({ workshop, base }: Opened, options: LocalOptions, request: SandboxRequest): Promise<LocalLease> {
  const { environment, owner, signal } = request
  signal?.throwIfAborted()
  const image = { base, layers: [], env: {}, workdir: '/', user: undefined, notes: [] }
  const owned = await workshop.make({
    owner,
    base: image.base,
    layers: image.layers,
    env: { ...image.env, ...environment.env, ...request.env },
    workdir: environment.workdir ?? image.workdir,
    user: image.user,
    network: environment.network.mode === 'public' ? 'host' : 'none',
    limits: {
      ...(environment.cpus && { cpus: environment.cpus }),
      ...(environment.memoryMb && { memoryMb: environment.memoryMb }),
      pids: options.pids,
    },
  })
  try {
    signal?.throwIfAborted()
    return await LocalLease.open(owned, environment.workdir ?? image.workdir, factsOf(workshop, image.notes))
  } catch (error) {
    await owned.dispose()
    throw error
  }
}

function factsOf(workshop: Workshop, notes: readonly string[]): SandboxFacts {
  const limits = { ...workshop.groups.enforces, storage: false }
  const missing = Object.entries(workshop.groups.enforces).flatMap(([name, on]) => (on ? [] : [name]))
  const warning = missing.length > 0 ? [`limits that this machine does not let us set: ${missing.join(', ')}`] : []
  return { provider: 'local', limits, notes: [...notes, ...warning] }
}

function lazily<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
}
