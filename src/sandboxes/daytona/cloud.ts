import type { CreateSandboxFromSnapshotParams, Daytona, Sandbox } from '@daytonaio/sdk'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { PluginContext } from '../../core/plugin.ts'
import type { Environment } from '../../core/task.ts'
import { type CloudImage, plainImage } from '../cloud/image.ts'
import type { CloudMachine } from '../cloud/machine.ts'
import type { Labels } from '../cloud/owner.ts'
import { type Cloud, loadPackage, secretOf } from '../cloud/provider.ts'
import { isNetwork, patiently, statusOf, translate } from './failures.ts'
import { DaytonaMachine, removeSandbox } from './machine.ts'
import { networkSettings } from './network.ts'
import { describeImage, findSource } from './snapshot-source.ts'
import { Snapshots } from './snapshots.ts'

export interface DaytonaOptions {
  /** For tasks that name no image; absent: the account's own default. */
  readonly snapshot?: string | undefined
  readonly whenFull: 'fail' | 'evict'
  readonly startSec: number
  readonly idleMin: number
  readonly lifetimeMin: number
  readonly freeze: 'restart' | 'kill'
}

const defaultApiUrl = 'https://app.daytona.io/api'
/** How long a stopped sandbox is kept: long enough for a restart, but not for a dead owner. */
const keptStoppedMin = 5
const requestTimeoutMs = 60_000

/** Opens an account using the variables that the provider itself documents. */
export async function openDaytona(options: DaytonaOptions, context: PluginContext): Promise<Cloud> {
  const apiKey = secretOf('daytona', 'DAYTONA_API_KEY', context)
  const sdk = await loadPackage('daytona', '@daytonaio/sdk', '0.218.0', () => import('@daytonaio/sdk'))
  const target = context.env.DAYTONA_TARGET
  const client = new sdk.Daytona({
    apiKey,
    apiUrl: context.env.DAYTONA_API_URL || defaultApiUrl,
    ...(target && { target }),
    requestTimeoutMs,
    // The alternative is a socket that stays open and keeps this process alive.
    useDeprecatedPolling: true,
    otelEnabled: false,
  })
  return new DaytonaCloud(client, new Snapshots({ client, images: sdk.Image, whenFull: options.whenFull }), options)
}

class DaytonaCloud implements Cloud {
  /** Leases requested before: their sandbox may exist although no answer came. */
  private readonly asked = new Set<string>()

  /** Snapshots of images that start, or may start, a program of their own. */
  private readonly loud = new Set<string>()

  constructor(
    private readonly client: Daytona,
    private readonly snapshots: Snapshots,
    private readonly options: DaytonaOptions,
  ) {}

  async check(): Promise<void> {
    await patiently(() => this.client.list({ limit: 1 }).next(), { doing: 'cannot reach the account' })
  }

  async nameImage(environment: Environment): Promise<string> {
    return (await findSource(environment)).name ?? this.options.snapshot ?? ''
  }

  async hasImage(environment: Environment): Promise<boolean> {
    const { name } = await findSource(environment)
    return name === null || this.snapshots.isReady(name)
  }

  async makeImage(environment: Environment, options: Parameters<Cloud['makeImage']>[1]): Promise<CloudImage> {
    const { needed, name } = await findSource(environment)
    if (name === null) return plainImage(this.options.snapshot ?? '')
    await this.snapshots.make({ name, environment, needed }, options)
    const { hasEntrypoint, image } = await describeImage(environment, needed, name)
    if (hasEntrypoint !== false) this.loud.add(name)
    return image
  }

  async create(image: CloudImage, environment: Environment, labels: Labels): Promise<CloudMachine> {
    const name = `ot-agent-${labels['ot-lease']}`
    const wish = () => this.wish(image, environment, name, labels)
    const patience = { doing: 'cannot start a sandbox', conflicts: true, tries: 4 }
    const sandbox = await patiently(() => this.start(name, wish), patience)
    return new DaytonaMachine(sandbox, {
      restarts: this.options.freeze === 'restart',
      startsPrograms: this.loud.has(image.name),
    })
  }

  /** Takes the sandbox that was requested before without an answer, or requests one. */
  private async start(name: string, wish: () => CreateSandboxFromSnapshotParams): Promise<Sandbox> {
    const { startSec } = this.options
    const known = this.asked.has(name) ? await this.find(name) : null
    this.asked.add(name)
    try {
      const sandbox = known ?? (await this.client.create(wish(), { timeout: startSec }))
      await sandbox.waitUntilStarted(startSec)
      return sandbox
    } catch (error) {
      if (statusOf(error) !== undefined || isNetwork(error)) throw error
      // A sandbox that failed to start still exists, and still costs money.
      await this.destroy(name).catch(() => {})
      throw new BoundaryError('sandbox', `Daytona: ${messageOf(error)}`, { code: 'SandboxStartError', cause: error })
    }
  }

  async list(labels: Labels): Promise<readonly { readonly id: string; readonly labels: Labels }[]> {
    const list = async () => {
      const found: { readonly id: string; readonly labels: Labels }[] = []
      for await (const { id, labels: own, state } of this.client.list({ labels: { ...labels }, limit: 100 }))
        if (state !== 'destroyed' && state !== 'destroying') found.push({ id, labels: own })
      return found
    }
    return patiently(list, { doing: 'cannot list sandboxes' })
  }

  async destroy(id: string): Promise<void> {
    await removeSandbox(async () => (await this.client.get(id)).delete(60))
  }

  private async find(name: string): Promise<Sandbox | null> {
    return this.client.get(name).catch((error: unknown) => {
      if (statusOf(error) === 404) return null
      throw translate(error, 'cannot search for a sandbox')
    })
  }

  private wish(
    image: CloudImage,
    environment: Environment,
    name: string,
    labels: Labels,
  ): CreateSandboxFromSnapshotParams {
    const { idleMin, lifetimeMin } = this.options
    return {
      name,
      user: 'root',
      // A copy, because the package writes into its argument.
      labels: { ...labels },
      ...(image.name !== '' && { snapshot: image.name }),
      autoStopInterval: idleMin,
      autoDeleteInterval: keptStoppedMin,
      ttlMinutes: lifetimeMin,
      ...networkSettings(environment.network),
    }
  }
}
