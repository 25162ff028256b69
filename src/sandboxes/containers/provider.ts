import { join } from 'node:path'
import { z } from 'zod'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { PluginContext } from '../../core/plugin.ts'
import type { SandboxAbilities, SandboxFacts, SandboxRequest } from '../../core/sandbox.ts'
import { mainService } from '../../formats/compose/load.ts'
import { lazily } from '../../lib/shared-work.ts'
import type { Lease } from '../common/lease.ts'
import type { LeaseProvider } from '../namespaces/allowlist.ts'
import { findCompose } from './compose/command.ts'
import { planProject } from './compose/plan.ts'
import { findServiceImages, hasServiceImages, loadServices } from './compose/services.ts'
import { limitsOf, volumesFor, waitingProgram } from './container.ts'
import { ContainerEngine } from './container-engine.ts'
import { isImageName } from './image-name.ts'
import { Images } from './images.ts'
import { newSandboxId, renderLabels } from './labels.ts'
import { DockerBody } from './lease.ts'
import { ownNetwork, sharedNetwork } from './public-network.ts'
import { reap } from './reap.ts'
import { saveTightProfile } from './seccomp.ts'
import { type EngineServer, findServer } from './server.ts'
import { type EngineKind, findSocket } from './sockets.ts'

export const engineOptions = z.strictObject({
  socket: z.string().optional().describe('unix socket of the container engine (default: the usual places)'),
  base: z
    .string()
    .refine(isImageName, 'expected the name of an image, for example debian:12')
    .optional()
    .describe('a local image to use for missing base images and for tasks without a Dockerfile'),
  network: z
    .string()
    .default('own')
    .describe(
      'own: a separate network for each sandbox with a public network; or the name of a network that they share, for example bridge',
    ),
  buildNetwork: z
    .string()
    .optional()
    .describe(
      'public: builds have network access even if the task has none; or the name of a network, for example host',
    ),
  builds: z.coerce.number().int().positive().default(2).describe('maximum number of images to build at the same time'),
  pids: z.coerce.number().int().positive().default(1024).describe('maximum number of processes in a sandbox'),
  lifetimeSec: z.coerce
    .number()
    .positive()
    .default(86_400)
    .describe('seconds after which `clean` may remove a sandbox whose machine does not answer'),
  verify: z
    .enum(['fresh', 'shared'])
    .default('fresh')
    .describe('shared: keep the agent’s processes running for the verifier, for tasks about live services'),
})

export type EngineOptions = z.output<typeof engineOptions>

const infoSchema = z.object({
  MemoryLimit: z.boolean().nullish(),
  CpuCfsQuota: z.boolean().nullish(),
  PidsLimit: z.boolean().nullish(),
  Driver: z.string().nullish(),
  DriverStatus: z.array(z.array(z.string())).nullish(),
})

function abilitiesOf({ networkPerPhase }: EngineKind, compose: boolean): SandboxAbilities {
  const network = ['public', 'no-network'] as const
  return { gpu: true, compose, images: true, windows: false, network, networkPerPhase, toolDirs: true }
}

interface Opened {
  readonly engine: ContainerEngine
  readonly server: EngineServer
  readonly stateDir: string
  readonly images: Images
  readonly limits: SandboxFacts['limits']
  readonly hasPlainLayers: boolean
  readonly gpuDevices: boolean
  readonly resolvesNames: boolean
  readonly listsEveryChange: boolean
  readonly noticesEnds: boolean
  /** By image. */
  readonly knownDirs: Map<string, Set<string>>
  readonly seccompProfile: string | null
}

/** Containers of an engine behind a socket, one per sandbox. */
export function makeContainers(kind: EngineKind, options: EngineOptions, context: PluginContext): LeaseProvider {
  const program = findCompose(context.env)
  const connect = async () => {
    const engine = new ContainerEngine(kind.name, await findSocket(kind, options.socket, context.env))
    await engine.ping().catch((error: unknown) => {
      throw new UserError(messageOf(error), kind.startHint)
    })
    return engine
  }
  const opened = lazily(async (): Promise<Opened> => {
    const engine = await connect()
    const { stateDir } = context
    const { gpuDevices, resolvesNames, listsEveryChange, noticesEnds, looseProfile } = kind
    const seccompProfile = looseProfile && (await saveTightProfile(looseProfile, join(stateDir, kind.name)))
    const { base, buildNetwork, builds, lifetimeSec } = options
    const [server, info] = await Promise.all([findServer(engine), findInfo(engine)])
    const shared = { server, stateDir, seccompProfile, limits: limitsFrom(info) }
    return {
      engine,
      ...shared,
      hasPlainLayers: hasPlainLayers(info),
      images: new Images(engine, { ...shared, base, buildNetwork, builds, lifetimeSec }),
      gpuDevices,
      resolvesNames,
      listsEveryChange,
      noticesEnds,
      knownDirs: new Map(),
    }
  })
  return {
    name: kind.name,
    can: abilitiesOf(kind, program !== null),
    preflight: async () => void (await connect()),
    about: async () => {
      const { name, refused } = await findServer(await connect())
      return [name, ...refused.map((what) => `refuses ${what}`)]
    },
    prepare: async (environment, how = {}) => {
      const { images } = await opened()
      const file = await loadServices(environment)
      await (file ? findServiceImages(images, file, environment, how) : images.find(environment, how))
    },
    isPrepared: async (environment) => {
      const { images } = await opened()
      const file = await loadServices(environment)
      return file ? hasServiceImages(images, file, environment) : images.has(environment)
    },
    imageDigest: async (image) => (await opened()).images.digestOf(image),
    lease: async (request) => lease({ ...(await opened()), program }, options, request),
    reap: async (how) => reap((await opened()).engine, context.stateDir, how),
  }
}

async function lease(
  { program, ...opened }: Opened & { readonly program: string | null },
  options: EngineOptions,
  request: SandboxRequest,
): Promise<Lease> {
  const { engine, server, stateDir, images, limits, gpuDevices, resolvesNames, seccompProfile } = opened
  const { hasPlainLayers, listsEveryChange, noticesEnds, knownDirs } = opened
  const { environment, owner, signal, toolDirs = [] } = request
  signal?.throwIfAborted()
  if (environment.os === 'windows')
    throw new BoundaryError('task', `${engine.name} sandboxes run Linux, but the task needs Windows`, {
      retryable: false,
    })
  const id = newSandboxId()
  const file = await loadServices(environment)
  const plan = file && (await planProject(file, request, { engine, server, images, program, resolvesNames, id }))
  const image = plan?.image ?? (await images.find(environment, request))
  const labels = renderLabels(id, owner, { stateDir, lifetimeSec: options.lifetimeSec })
  const hasOthers = (plan?.project.others.length ?? 0) > 0
  // Several services use the networks of their project.
  const shared = options.network === 'own' && hasOthers ? 'bridge' : options.network
  const dirs = knownDirs.get(image.id) ?? new Set<string>()
  knownDirs.set(image.id, dirs)
  const mounted = file?.services[mainService]?.mounts.map(({ target }) => target) ?? []
  return DockerBody.open(
    {
      engine,
      id,
      workdir: environment.workdir ?? plan?.workdir ?? image.workdir,
      spec: {
        image: image.id,
        labels,
        env: { ...environment.env, ...plan?.env, ...request.env },
        user: plan?.user ?? image.user,
        program: plan?.program ?? waitingProgram(image.entrypoint),
        volumes: volumesFor(id, image).filter(({ path }) => !mounted.includes(path)),
        toolDirs,
        limits: limitsOf(environment, options.pids, limits.storage),
        gpus: environment.gpus,
        gpuDevices,
        seccompProfile,
      },
      network: environment.network,
      publicNetwork: shared === 'own' ? ownNetwork(engine, server, id, labels) : sharedNetwork(shared),
      facts: factsOf(engine, limits, plan ?? { notes: image.notes, program: image.entrypoint }),
      healthcheck: plan ? plan.healthcheck : image.healthcheck,
      verify: options.verify,
      project: plan?.project ?? null,
      listsEveryChange,
      noticesEnds,
      hasPlainLayers,
      knownDirs: dirs,
      log: request.log,
    },
    signal,
  )
}

type EngineInfo = z.output<typeof infoSchema>

async function findInfo(engine: ContainerEngine): Promise<EngineInfo> {
  return infoSchema.parse((await engine.ask({ method: 'GET', path: '/info' })).body)
}

function statusOf(info: EngineInfo, wanted: string): string | undefined {
  return info.DriverStatus?.find(([name]) => name === wanted)?.[1]
}

/** False when an overlay notes only the renaming of a directory or the change of a mode: its files then lack the rest. */
function hasPlainLayers(info: EngineInfo): boolean {
  return statusOf(info, 'Native Overlay Diff') === 'true' && statusOf(info, 'Using metacopy') !== 'true'
}

function limitsFrom(info: EngineInfo): SandboxFacts['limits'] {
  const backing = statusOf(info, 'Backing Filesystem')
  return {
    cpu: info.CpuCfsQuota ?? false,
    memory: info.MemoryLimit ?? false,
    pids: info.PidsLimit ?? false,
    // Engines can limit the size of a container's layer only on file systems with quotas per directory.
    storage: (info.Driver === 'overlay2' && backing === 'xfs') || ['btrfs', 'zfs'].includes(info.Driver ?? ''),
  }
}

function factsOf(
  engine: ContainerEngine,
  limits: SandboxFacts['limits'],
  { notes, program }: { readonly notes: readonly string[]; readonly program: readonly string[] },
): SandboxFacts {
  const missing = Object.entries(limits).flatMap(([name, on]) => (on ? [] : [name]))
  const warning =
    missing.length > 0 ? [`limits that this container engine does not enforce: ${missing.join(', ')}`] : []
  const services =
    program.length > 0 ? ['the image’s ENTRYPOINT runs alongside the agent, but not alongside the verifier'] : []
  return { provider: engine.name, limits, notes: [...notes, ...services, ...warning] }
}
