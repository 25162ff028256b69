import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { PluginContext } from '../../core/plugin.ts'
import type {
  PrepareOptions,
  Reaped,
  SandboxAbilities,
  SandboxFacts,
  SandboxProvider,
  SandboxRequest,
} from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import { sleep } from '../../lib/deadline.ts'
import { codeOf } from '../../lib/files.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { lazily, SharedWork } from '../../lib/shared-work.ts'
import type { Lease } from '../common/lease.ts'
import { withPatience } from './failures.ts'
import type { CloudImage } from './image.ts'
import { CloudBody } from './lease.ts'
import type { CloudMachine } from './machine.ts'
import { isAbandoned, type Labels, labelsOf, ours, ownerOf, Starts } from './owner.ts'

/** One account at a cloud: what its package can do for us, and how it makes images. */
export interface Cloud {
  /** Throws UserError when the account cannot be used. */
  check(): Promise<void>
  /** Names what an environment starts from; environments with the same name share it. */
  nameImage(environment: Environment): Promise<string>
  hasImage(environment: Environment): Promise<boolean | null>
  /** Finds the image, or builds it. */
  makeImage(environment: Environment, options: Required<PrepareOptions>): Promise<CloudImage>
  create(image: CloudImage, environment: Environment, labels: Labels): Promise<CloudMachine>
  /** Machines with these labels. */
  list(labels: Labels): Promise<readonly { readonly id: string; readonly labels: Labels }[]>
  /** A machine that is already gone is fine. */
  destroy(id: string): Promise<void>
}

export interface CloudProviderOptions {
  readonly name: string
  /** What differs from cloud to cloud. */
  readonly can: Pick<SandboxAbilities, 'gpu' | 'networkPerPhase'>
  readonly limits: SandboxFacts['limits']
  readonly extendEverySec: number
  readonly maxBuilds: number
  readonly context: PluginContext
  /** Called when first needed: asking a provider what it can do takes no account. */
  readonly open: () => Promise<Cloud>
}

/** Makes a provider of sandboxes in a cloud. */
export function makeCloudProvider(options: CloudProviderOptions): SandboxProvider {
  const open = lazily(options.open)
  const images = new Images(options.maxBuilds)
  const starts = new Starts(join(options.context.stateDir, options.name, 'starts'))
  return {
    name: options.name,
    can: {
      ...options.can,
      compose: false,
      images: true,
      windows: false,
      network: ['public', 'no-network', 'allowlist'],
    },
    remote: true,
    preflight: async ({ offline = false } = {}) => {
      const cloud = await open()
      if (!offline) await cloud.check()
    },
    prepare: async (environment, how = {}) => void (await images.find(await open(), environment, how)),
    isPrepared: async (environment) => (await open()).hasImage(environment),
    lease: async (request) => lease(await open(), { options, images, starts }, request),
    reap: async (how) => reap(await open(), starts, how?.dryRun ?? false),
  }
}

/** Images by name: each is looked up or built once for all callers, with a limit on concurrent builds. */
class Images {
  private readonly known = new Map<string, CloudImage>()
  private readonly work = new SharedWork<CloudImage>()
  private readonly builds: Semaphore

  constructor(maxBuilds: number) {
    this.builds = new Semaphore(maxBuilds)
  }

  async find(cloud: Cloud, environment: Environment, how: PrepareOptions): Promise<CloudImage> {
    const { forceBuild = false, log = () => {}, signal = new AbortController().signal } = how
    const name = await cloud.nameImage(environment)
    const known = forceBuild ? undefined : this.known.get(name)
    if (known) return known
    const image = await this.work.run(name, signal, (all) =>
      this.builds.run(all, () => withPatience(() => cloud.makeImage(environment, { forceBuild, log, signal: all }))),
    )
    this.known.set(name, image)
    return image
  }
}

interface Tools {
  readonly options: CloudProviderOptions
  readonly images: Images
  readonly starts: Starts
}

async function lease(cloud: Cloud, { options, images, starts }: Tools, request: SandboxRequest): Promise<Lease> {
  const { environment, signal, owner } = request
  signal?.throwIfAborted()
  const image = await images.find(cloud, environment, request)
  const { lease: name, labels } = labelsOf(owner)
  await starts.begin(name, labels)
  const machine = await create(cloud, image, request, { lease: name, labels }).finally(() => starts.end(name))
  try {
    signal?.throwIfAborted()
    return await CloudBody.open(machine, {
      image,
      facts: { provider: options.name, limits: options.limits, notes: image.notes },
      workdir: environment.workdir,
      env: { ...environment.env, ...request.env },
      extendEverySec: options.extendEverySec,
    })
  } catch (error) {
    await machine.destroy().catch(() => {})
    throw error
  }
}

interface LeaseMarks {
  readonly lease: string
  readonly labels: Labels
}

/**
 * Requests a machine and waits for the answer even if the caller aborts: otherwise an unknown machine could
 * exist. When there is no answer, it is looked up by its labels.
 */
async function create(
  cloud: Cloud,
  image: CloudImage,
  { environment, signal }: SandboxRequest,
  { lease, labels }: LeaseMarks,
): Promise<CloudMachine> {
  try {
    return await withPatience(() => cloud.create(image, environment, labels), signal)
  } catch (error) {
    for (const pauseMs of [0, 500, 1500]) {
      await sleep(pauseMs)
      if (await sweep(cloud, lease).catch(() => false)) break
    }
    throw error
  }
}

async function sweep(cloud: Cloud, lease: string): Promise<boolean> {
  const found = await cloud.list({ 'ot-lease': lease })
  for (const { id } of found) await cloud.destroy(id)
  return found.length > 0
}

/** How long a start may take to show up after its owner died, and how long we wait for it now. */
const startLimitSec = 900
const startPatienceMs = 10_000

async function reap(cloud: Cloud, starts: Starts, dryRun: boolean): Promise<readonly Reaped[]> {
  const orphans = (await starts.list()).filter(({ labels }) => isAbandoned(labels))
  const reaped = new Map<string, Reaped>()
  const until = performance.now() + (dryRun ? 0 : startPatienceMs)
  for (;;) {
    const machines = (await withPatience(() => cloud.list(ours))).filter(({ labels }) => isAbandoned(labels))
    for (const { id, labels } of machines) {
      if (!dryRun) await withPatience(() => cloud.destroy(id))
      reaped.set(id, {
        id,
        owner: ownerOf(labels),
        what: `left by process ${(labels['ot-process'] ?? '').split('.')[0]}`,
      })
      for (const start of orphans.filter(({ lease }) => lease === labels['ot-lease']))
        orphans.splice(orphans.indexOf(start), 1)
      if (!dryRun && labels['ot-lease']) await starts.end(labels['ot-lease'])
    }
    if (orphans.length === 0 || performance.now() >= until) break
    await sleep(500)
  }
  if (!dryRun) for (const { lease } of orphans.filter(({ ageSec }) => ageSec > startLimitSec)) await starts.end(lease)
  return [...reaped.values()]
}

/** Loads a provider's package, which only its users install. */
export async function loadPackage<T>(
  sandbox: string,
  name: string,
  version: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new UserError(
      `sandbox ${sandbox} needs the package ${name}, which is not installed`,
      `npm install ${name}@${version}`,
    )
  }
}

/** The value of a variable that holds a secret. */
export function secretOf(sandbox: string, name: string, context: PluginContext): string {
  const value = context.env[name]
  if (value === undefined || value === '')
    throw new UserError(
      `sandbox ${sandbox} needs the environment variable ${name}, which is not set`,
      `export ${name}=…`,
    )
  return value
}
