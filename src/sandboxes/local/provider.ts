import { join } from 'node:path'
import type { PluginContext } from '../../core/plugin.ts'
import type { SandboxAbilities, SandboxFacts, SandboxNeeds, SandboxRequest } from '../../core/sandbox.ts'
import { lazily } from '../../lib/shared-work.ts'
import type { Lease } from '../common/lease.ts'
import type { LeaseProvider } from '../namespaces/allowlist.ts'
import { type Base, directoryBase, hostBase, requireOutsideOfHost, systemParts } from './base.ts'
import { makeImageHost } from './image/layers.ts'
import { buildImage, type Image } from './image.ts'
import { LocalBody } from './lease.ts'
import { findPrivileges, type Privileges } from './privileges.ts'
import { reap } from './reap.ts'
import { requireUplink } from './uplink.ts'
import { makeHome, Workshop } from './workshop.ts'

export interface LocalOptions {
  readonly rootfs?: string | undefined
  readonly pids: number
  readonly verify: 'fresh' | 'shared'
  readonly buildNetwork?: 'task' | 'public' | undefined
  readonly ids?: 'own' | 'host' | undefined
  readonly cacheLimitGb?: number | undefined
}

const can: SandboxAbilities = {
  gpu: false,
  compose: false,
  images: false,
  windows: false,
  network: ['public', 'no-network'],
  networkPerPhase: true,
  toolDirs: true,
}

/**
 * Measured with an oracle's trials: 4 to 7 descriptors and at most 8 to 9 processes, plus some for what an agent
 * starts.
 */
const needs: SandboxNeeds = { descriptors: 8, processes: 12 }

export function makeLocal(options: LocalOptions, context: PluginContext): LeaseProvider {
  const opened = lazily(async () => {
    const workshop = await Workshop.open(context.stateDir, options)
    await reap(workshop)
    const base = options.rootfs
      ? await directoryBase(options.rootfs)
      : await hostBase(join(workshop.home, 'bases'), workshop.privileges, workshop.cache)
    return { workshop, base, images: new Map<string, Image>() }
  })
  return {
    name: 'local',
    can,
    needs,
    dirs: [context.stateDir],
    preflight: async ({ networks = [] } = {}) => {
      const home = await makeHome(context.stateDir)
      if (!options.rootfs) await requireOutsideOfHost(home)
      const privileges = await findPrivileges(home, options)
      if (!options.rootfs) await systemParts(privileges)
      if (networks.includes('public')) requireUplink()
    },
    about: async () => aboutIds(await findPrivileges(await makeHome(context.stateDir), options)),
    prepare: async (environment, how) => void (await imageFor(await opened(), options, { environment, ...how })),
    lease: async (request) => lease(await opened(), options, request),
    reap: async (how) => reap(await Workshop.open(context.stateDir), how),
    prune: async (how) => (await Workshop.open(context.stateDir, options)).cache.prune(how),
  }
}

function aboutIds({ mode, ownIds }: Privileges): string[] {
  if (mode === 'user') return []
  return [`root inside is user ${ownIds?.first ?? 0} outside${ownIds ? '' : ': ids cannot be mapped here'}`]
}

interface Opened {
  readonly workshop: Workshop
  readonly base: Base
  /** Images by the directory they were built from; a task's files do not change while a process uses them. */
  readonly images: Map<string, Image>
}

async function lease(opened: Opened, options: LocalOptions, request: SandboxRequest): Promise<Lease> {
  const { workshop } = opened
  const { environment, owner, signal } = request
  signal?.throwIfAborted()
  const image = await imageFor(opened, options, request)
  const workdir = environment.workdir ?? image.workdir
  const owned = await workshop.make(
    {
      owner,
      base: image.base,
      layers: image.layers,
      env: { ...image.env, ...environment.env, ...request.env },
      workdir,
      user: image.user,
      network: environment.network.mode === 'public' ? 'public' : 'none',
      storageMb: environment.storageMb,
      toolDirs: request.toolDirs,
      limits: {
        ...(environment.cpus && { cpus: environment.cpus }),
        ...(environment.memoryMb && { memoryMb: environment.memoryMb }),
        pids: options.pids,
      },
    },
    signal,
  )
  try {
    signal?.throwIfAborted()
    const facts = factsOf(workshop, image)
    return await LocalBody.open(owned, { workdir, image, facts, verify: options.verify })
  } catch (error) {
    await owned.dispose()
    throw error
  }
}

type ImageRequest = Pick<SandboxRequest, 'environment' | 'forceBuild' | 'signal' | 'log'>

async function imageFor(
  { workshop, base, images }: Opened,
  { buildNetwork }: LocalOptions,
  request: ImageRequest,
): Promise<Image> {
  const { environment, forceBuild = false, log = () => {}, signal = new AbortController().signal } = request
  const known = forceBuild ? undefined : images.get(environment.dir)
  if (known) return known
  const image = await buildImage(environment, makeImageHost(workshop, base), { signal, log, forceBuild, buildNetwork })
  images.set(environment.dir, image)
  return image
}

function factsOf(workshop: Workshop, { notes, entrypoint }: Image): SandboxFacts {
  const limits = { ...workshop.groups.enforces, storage: true }
  const missing = Object.entries(workshop.groups.enforces).flatMap(([name, on]) => (on ? [] : [name]))
  const warning = missing.length > 0 ? [`limits that cannot be enforced on this machine: ${missing.join(', ')}`] : []
  const services = entrypoint ? ['the image’s ENTRYPOINT runs alongside the agent, but not alongside the verifier'] : []
  const startedBy = workshop.privileges.ownIds ? 'starter' : 'shell'
  return { provider: 'local', limits, notes: [...notes, ...services, ...warning], startedBy }
}
