import type { Daytona, Image, Resources } from '@daytonaio/sdk'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { PrepareOptions } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import type { NeededImage } from '../../formats/harbor-task/needed-image.ts'
import { expired, sleep, withDeadline } from '../../lib/deadline.ts'
import { isQuota, patiently, statusOf, translate } from './failures.ts'
import { sizeOf, snapshotPrefix, withBuildSource } from './snapshot-source.ts'

type Snapshot = Awaited<ReturnType<Daytona['snapshot']['get']>>

export interface SnapshotWish {
  readonly name: string
  readonly environment: Environment
  readonly needed: NeededImage
}

export interface SnapshotsOptions {
  readonly client: Daytona
  readonly images: typeof Image
  /**
   * What to do when the account has reached its limit of snapshots: remove our oldest unused one, or fail and let the
   * user decide.
   */
  readonly whenFull: 'fail' | 'evict'
}

const pollMs = 1000

/** Our snapshots in the account: each is looked up before it is built. */
export class Snapshots {
  /** Names that this process has used: these are never removed. */
  private readonly used = new Set<string>()

  constructor(private readonly options: SnapshotsOptions) {}

  async isReady(name: string): Promise<boolean> {
    return (await this.find(name))?.state === 'active'
  }

  /** Finds the snapshot, waits for another process that is building it, or builds it. */
  async make(wish: SnapshotWish, options: Required<PrepareOptions>): Promise<void> {
    const { name, environment } = wish
    this.used.add(name)
    if (options.forceBuild) await this.remove(name)
    const made = await withDeadline(environment.buildTimeoutSec, options.signal, (signal) =>
      this.untilReady(wish, { ...options, signal }),
    )
    if (made !== expired) return
    // A half-built snapshot stays: it is named after its content, so the next request waits for it or finds it.
    const message = `building the sandbox took longer than ${environment.buildTimeoutSec} s`
    throw new BoundaryError('sandbox', message, { code: 'EnvironmentBuildTimeoutError' })
  }

  private async untilReady(wish: SnapshotWish, options: Required<PrepareOptions>): Promise<void> {
    for (;;) {
      options.signal.throwIfAborted()
      const found = await this.find(wish.name)
      if (found?.state === 'active') return
      if (found === null) await this.build(wish, options)
      else if (found.state === 'error' || found.state === 'build_failed') await this.remove(wish.name)
      else if (found.state === 'inactive') await this.activate(found)
      else await sleep(pollMs, options.signal)
    }
  }

  private async build(wish: SnapshotWish, { log }: Required<PrepareOptions>): Promise<void> {
    const { name, environment, needed } = wish
    const { client, images } = this.options
    const resources: Resources = gpuTyped(sizeOf(environment))
    log(`building Daytona snapshot ${name}`)
    try {
      await withBuildSource(images, environment, needed, (image) =>
        client.snapshot.create({ name, image, resources }, { onLogs: log, timeout: 120 }),
      )
    } catch (error) {
      await this.explain(error, name)
    }
  }

  /** Returns when it makes sense to look again. */
  private async explain(error: unknown, name: string): Promise<void> {
    // Another process made the same request at the same time.
    if (statusOf(error) === 409) return
    const failed = await this.find(name).catch(() => null)
    if (failed?.state === 'error' || failed?.state === 'build_failed') {
      await this.remove(name)
      const reason = failed.errorReason ?? messageOf(error)
      throw new BoundaryError('task', `the image cannot be built: ${reason.slice(0, 500)}`, {
        code: 'EnvironmentBuildError',
        retryable: false,
      })
    }
    if (isQuota(error) && /snapshot/i.test(messageOf(error))) return this.makeRoom(messageOf(error))
    throw translate(error, 'cannot make a snapshot')
  }

  private async makeRoom(complaint: string): Promise<void> {
    if (this.options.whenFull === 'evict') {
      const oldest = (await this.listOurs())
        .filter(({ name, state }) => !this.used.has(name) && state !== 'building' && state !== 'pending')
        .sort((a, b) => lastUse(a) - lastUse(b))[0]
      if (oldest) return this.remove(oldest.name)
    }
    throw new UserError(
      `Daytona accepts no more snapshots: ${complaint.slice(0, 200)}`,
      `delete some at the provider, or let ot-agent replace its least recently used ones: --ek whenFull=evict`,
    )
  }

  private async listOurs(): Promise<Snapshot[]> {
    const ours: Snapshot[] = []
    for (let page = 1, pages = 1; page <= pages; page++) {
      const list = await patiently(() => this.options.client.snapshot.list({ page, limit: 100 }), {
        doing: 'cannot list snapshots',
      })
      ours.push(...list.items.filter(({ name }) => name.startsWith(snapshotPrefix)))
      pages = list.totalPages
    }
    return ours
  }

  private async find(name: string): Promise<Snapshot | null> {
    const get = () =>
      this.options.client.snapshot.get(name).catch((error: unknown) => {
        if (statusOf(error) === 404) return null
        throw error
      })
    return patiently(get, { doing: `cannot search for snapshot ${name}` })
  }

  private async activate(snapshot: Snapshot): Promise<void> {
    await patiently(() => this.options.client.snapshot.activate(snapshot), {
      doing: `cannot activate ${snapshot.name}`,
    })
  }

  private async remove(name: string): Promise<void> {
    const found = await this.find(name)
    if (found) await patiently(() => this.options.client.snapshot.delete(found), { doing: `cannot delete ${name}` })
    while (await this.find(name)) await sleep(pollMs)
  }
}

/** The provider has a list of GPU types; a type that it does not know is refused by name. */
function gpuTyped({ gpuType, ...size }: ReturnType<typeof sizeOf>): Resources {
  return { ...size, ...(gpuType && { gpuType: [...gpuType] as NonNullable<Resources['gpuType']> }) }
}

function lastUse({ lastUsedAt, createdAt }: Snapshot): number {
  return new Date(lastUsedAt ?? createdAt).getTime()
}
