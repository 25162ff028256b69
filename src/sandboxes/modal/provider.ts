import type * as Modal from 'modal'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { PluginContext } from '../../core/plugin.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Environment, Network } from '../../core/task.ts'
import { findNeededImage } from '../../formats/harbor-task/needed-image.ts'
import { lazily } from '../../lib/shared-work.ts'
import { type CloudImage, plainImage } from '../cloud/image.ts'
import type { Labels } from '../cloud/owner.ts'
import { type Cloud, loadPackage, makeCloudProvider, secretOf } from '../cloud/provider.ts'
import { loadRecipe, payloadPath, type Recipe } from '../cloud/recipe.ts'
import { asking } from './failures.ts'
import { end, ModalMachine } from './machine.ts'

export interface ModalOptions {
  readonly app: string
  readonly image: string
  readonly lifetimeSec: number
  readonly idleSec: number
  readonly maxBuilds: number
}

export function makeModal(options: ModalOptions, context: PluginContext): SandboxProvider {
  return makeCloudProvider({
    name: 'modal',
    can: { gpu: false, networkPerPhase: false },
    limits: { cpu: true, memory: true, pids: false, storage: false },
    extendEverySec: options.idleSec / 3,
    maxBuilds: options.maxBuilds,
    context,
    open: () => open(options, context),
  })
}

async function open(options: ModalOptions, context: PluginContext): Promise<Cloud> {
  const tokenId = secretOf('modal', 'MODAL_TOKEN_ID', context)
  const tokenSecret = secretOf('modal', 'MODAL_TOKEN_SECRET', context)
  const modal = await loadPackage('modal', 'modal', '0.11.1', () => import('modal'))
  const { MODAL_ENVIRONMENT: environment } = context.env
  const client = new modal.ModalClient({
    tokenId,
    tokenSecret,
    maxThrottleWaitSecs: 60,
    logLevel: 'error',
    ...(environment && { environment }),
  })
  return new ModalCloud(client, options)
}

class ModalCloud implements Cloud {
  private readonly built = new Map<string, Modal.Image>()
  private readonly findApp = lazily(() =>
    asking(() => this.client.apps.fromName(this.options.app, { createIfMissing: true })),
  )

  constructor(
    private readonly client: Modal.ModalClient,
    private readonly options: ModalOptions,
  ) {}

  async check(): Promise<void> {
    await this.findApp()
  }

  async nameImage(environment: Environment): Promise<string> {
    return (await findNeededImage(environment)).key
  }

  async hasImage(): Promise<null> {
    return null
  }

  makeImage: Cloud['makeImage'] = async (environment, { forceBuild, log }) => {
    const { image, description } = await describeImage(this.client, environment, this.options.image, forceBuild)
    log(`building the image of ${description.name} at Modal, unless it exists`)
    const app = await this.findApp()
    const built = await asking(() =>
      image.build(app).catch((error: unknown) => {
        throw buildFailure(error) ?? error
      }),
    )
    this.built.set(description.name, built)
    return description
  }

  async create(image: CloudImage, environment: Environment, labels: Labels): Promise<ModalMachine> {
    const app = await this.findApp()
    const start = (from: Modal.Image) =>
      this.client.sandboxes.create(app, from, {
        ...this.paramsOf(environment),
        command: ['sleep', 'infinity'],
        tags: { ...labels },
      })
    const built = this.built.get(image.name)
    if (!built) throw new Error(`the image ${image.name} was not built`)
    return new ModalMachine(await asking(() => start(built)), start)
  }

  async list(labels: Labels): Promise<readonly { readonly id: string; readonly labels: Labels }[]> {
    return asking(async () => {
      const { appId } = await this.findApp()
      const found: { id: string; labels: Labels }[] = []
      for await (const sandbox of this.client.sandboxes.list({ appId, tags: { ...labels } }))
        found.push({ id: sandbox.sandboxId, labels: await sandbox.getTags() })
      return found
    })
  }

  async destroy(id: string): Promise<void> {
    await end(await asking(() => this.client.sandboxes.fromId(id)))
  }

  private paramsOf({ cpus, memoryMb, network }: Environment): Modal.SandboxCreateParams {
    return {
      timeoutMs: this.options.lifetimeSec * 1000,
      idleTimeoutMs: this.options.idleSec * 1000,
      ...(cpus !== undefined && { cpu: cpus, cpuLimit: cpus }),
      ...(memoryMb !== undefined && { memoryMiB: memoryMb, memoryLimitMiB: memoryMb }),
      ...networkOf(network),
    }
  }
}

function networkOf(network: Network): Pick<Modal.SandboxCreateParams, 'blockNetwork' | 'outboundDomainAllowlist'> {
  if (network.mode === 'public') return {}
  if (network.mode === 'no-network' || network.hosts.length === 0) return { blockNetwork: true }
  return { outboundDomainAllowlist: [...network.hosts] }
}

/** The files a Dockerfile copies are sent inside its commands, so they must be small. */
const payloadLimitBytes = 2 << 20
/** A single program argument may have 128 KiB. */
const chunkChars = 90_000

/** What Modal builds, and how commands in it run. Modal itself reuses an image that it built from the same commands. */
async function describeImage(
  client: Modal.ModalClient,
  environment: Environment,
  baseImage: string,
  forceBuild: boolean,
): Promise<{ readonly image: Modal.Image; readonly description: CloudImage }> {
  const needed = await findNeededImage(environment)
  if (needed.kind === 'compose')
    throw new BoundaryError('task', 'Modal cannot run several services', {
      code: 'UnsupportedEnvironmentError',
      retryable: false,
    })
  if (needed.kind !== 'dockerfile') {
    const name = needed.kind === 'prebuilt' ? needed.name : baseImage
    return { image: client.images.fromRegistry(name), description: plainImage(name) }
  }
  const recipe = await loadRecipe(environment)
  const commands = commandsOf(recipe)
  const base = client.images.fromRegistry(recipe.from)
  const image = commands.length > 0 ? base.dockerfileCommands(commands, { forceBuild }) : base
  return { image, description: { ...plainImage(needed.key), ...recipe.config, notes: recipe.notes } }
}

/** Every command is one line; its text is encoded so that no quoting can go wrong on the way. */
function commandsOf(recipe: Recipe): string[] {
  return recipe.steps.flatMap(({ title, script, payload }) => {
    const run = `RUN printf %s ${base64(script)} | base64 -d | sh`
    if (payload === null) return [run]
    if (payload.length > payloadLimitBytes)
      throw new BoundaryError(
        'task',
        `environment/Dockerfile: ${title}: more than ${payloadLimitBytes} packed bytes cannot be copied into an image at Modal; use docker_image`,
        { code: 'EnvironmentBuildError', retryable: false },
      )
    const text = Buffer.from(payload).toString('base64')
    const chunks = text.match(new RegExp(`.{1,${chunkChars}}`, 'g')) ?? ['']
    return [...chunks.map((chunk) => `RUN printf %s ${chunk} | base64 -d >> ${payloadPath}`), run]
  })
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** A build that Modal gave up on is the task's fault. Trouble on the way to Modal is not. */
function buildFailure(error: unknown): BoundaryError | null {
  const message = messageOf(error)
  if (!/image build .*failed|build failed/i.test(message)) return null
  return new BoundaryError('task', `environment/Dockerfile: Modal cannot build it: ${message.slice(0, 500)}`, {
    code: 'EnvironmentBuildError',
    retryable: false,
    cause: error,
  })
}
