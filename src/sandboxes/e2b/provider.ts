import type * as E2b from 'e2b'
import type { PluginContext } from '../../core/plugin.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import type { CloudImage } from '../cloud/image.ts'
import type { Labels } from '../cloud/owner.ts'
import { type Cloud, loadPackage, makeCloudProvider, secretOf } from '../cloud/provider.ts'
import { asking } from './failures.ts'
import { E2bMachine, networkOf } from './machine.ts'
import { type Account, makeTemplate, nameTemplate } from './template.ts'

export interface E2bOptions {
  readonly template: string
  readonly lifetimeSec: number
  readonly maxBuilds: number
  readonly requestTimeoutSec: number
}

export function makeE2b(options: E2bOptions, context: PluginContext): SandboxProvider {
  return makeCloudProvider({
    name: 'e2b',
    can: { gpu: false, networkPerPhase: true },
    // Each sandbox is its own virtual machine, whose size is its limit. Nothing limits its processes.
    limits: { cpu: true, memory: true, pids: false, storage: true },
    extendEverySec: options.lifetimeSec / 3,
    maxBuilds: options.maxBuilds,
    context,
    open: () => open(options, context),
  })
}

async function open(options: E2bOptions, context: PluginContext): Promise<Cloud> {
  const apiKey = secretOf('e2b', 'E2B_API_KEY', context)
  const e2b = await loadPackage('e2b', 'e2b', '2.51.0', () => import('e2b'))
  const { E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl, E2B_DOMAIN: domain } = context.env
  const connection = {
    apiKey,
    requestTimeoutMs: options.requestTimeoutSec * 1000,
    ...(apiUrl && { apiUrl }),
    ...(sandboxUrl && { sandboxUrl }),
    ...(domain && { domain }),
  }
  return new E2bCloud({ e2b, connection, baseTemplate: options.template }, options.lifetimeSec * 1000)
}

class E2bCloud implements Cloud {
  constructor(
    private readonly account: Account,
    private readonly lifetimeMs: number,
  ) {}

  async check(): Promise<void> {
    await this.ask((e2b, connection) => e2b.Sandbox.list({ ...connection, limit: 1 }).nextItems())
  }

  nameImage(environment: Environment): Promise<string> {
    return nameTemplate(environment, this.account.baseTemplate)
  }

  async hasImage(environment: Environment): Promise<boolean> {
    const name = await this.nameImage(environment)
    if (name === this.account.baseTemplate) return true
    return this.ask((e2b, connection) => e2b.Template.exists(name, connection))
  }

  makeImage: Cloud['makeImage'] = (environment, options) => makeTemplate(this.account, environment, options)

  async create(image: CloudImage, { network }: Environment, labels: Labels): Promise<E2bMachine> {
    const { allowInternetAccess, ...rest } = networkOf(network)
    const sandbox = await this.ask((e2b, connection) =>
      e2b.Sandbox.create(image.name, {
        ...connection,
        timeoutMs: this.lifetimeMs,
        metadata: { ...labels },
        ...(allowInternetAccess === false && { allowInternetAccess }),
        ...(Object.keys(rest).length > 0 && { network: rest }),
        lifecycle: { onTimeout: 'kill' },
      }),
    )
    return new E2bMachine(this.account.e2b, sandbox, this.lifetimeMs)
  }

  async list(labels: Labels): Promise<readonly { readonly id: string; readonly labels: Labels }[]> {
    return this.ask(async (e2b, connection) => {
      const pages = e2b.Sandbox.list({ ...connection, query: { metadata: { ...labels } }, limit: 100 })
      const found: { id: string; labels: Labels }[] = []
      while (pages.hasNext)
        for (const { sandboxId, metadata } of await pages.nextItems()) found.push({ id: sandboxId, labels: metadata })
      return found
    })
  }

  async destroy(id: string): Promise<void> {
    await this.ask((e2b, connection) => e2b.Sandbox.kill(id, connection))
  }

  private ask<T>(request: (e2b: typeof E2b, connection: E2b.ConnectionOpts) => Promise<T>): Promise<T> {
    const { e2b, connection } = this.account
    return asking(e2b, () => request(e2b, connection))
  }
}
