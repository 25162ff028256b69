import { createHash } from 'node:crypto'
import { once, setMaxListeners } from 'node:events'
import { mkdirSync } from 'node:fs'
import { chmod, mkdir, readdir, rename } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { SandboxOwner } from '../../core/sandbox.ts'
import { ControlGroups, type Limits } from '../../lib/control-group.ts'
import { patiently } from '../../lib/exhaustion.ts'
import { codeOf } from '../../lib/files.ts'
import { ownersDirOf } from '../../lib/process-identity.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { lazily } from '../../lib/shared-work.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import { forgetLease, newId, saveLease } from '../namespaces/lease-file.ts'
import { Cache } from './cache.ts'
import { Machine } from './machine.ts'
import type { MachineOptions } from './machine-files.ts'
import { findPrivileges, type Privileges } from './privileges.ts'
import { removeByStarter } from './starter.ts'

/** A machine with its directory, control group and lease; `dispose` leaves nothing of it. */
export interface OwnedMachine {
  readonly id: string
  readonly dir: string
  readonly machine: Machine
  dispose(): Promise<void>
}

type MachineRequest = Omit<MachineOptions, 'home' | 'dir' | 'upper' | 'privileges' | 'group'> & {
  readonly owner: SandboxOwner
  readonly limits: Limits
}

export interface WorkshopOptions {
  readonly cacheLimitGb?: number | undefined
  readonly ids?: 'own' | 'host' | undefined
}

/** Creates and removes the machines of one state directory. */
export class Workshop {
  readonly cache: Cache

  private constructor(
    readonly home: string,
    readonly privileges: Privileges,
    readonly groups: ControlGroups,
    cacheLimitGb: number | undefined,
  ) {
    this.cache = new Cache(this, cacheLimitGb)
  }

  static async open(stateDir: string, { cacheLimitGb, ids }: WorkshopOptions = {}): Promise<Workshop> {
    const home = await makeHome(stateDir)
    const privileges = await findPrivileges(home, { ids })
    return new Workshop(home, privileges, ControlGroups.find(groupName(home)), cacheLimitGb)
  }

  get sandboxesDir(): string {
    return join(this.home, 'sandboxes')
  }

  /** Where owners of its machines show that they are alive. */
  get ownersDir(): string {
    return ownersDirOf(dirname(this.home))
  }

  /** Starts a machine whose changes collect in `<dir>/upper`, after earlier requests, a few at a time. */
  make(request: MachineRequest, signal = unbounded): Promise<OwnedMachine> {
    return starts.run(signal, () => this.makeNow(request))
  }

  private async makeNow(request: MachineRequest): Promise<OwnedMachine> {
    const id = newId(this.ownersDir)
    const dir = join(this.sandboxesDir, id)
    const dispose = lazily(() => this.unmake(id, dir, () => machine))
    let machine: Machine | undefined
    mkdirSync(dir, { recursive: true })
    try {
      saveLease(dir, id, request.owner, null)
      const group = Object.values(this.groups.enforces).some(Boolean) ? this.groups.create(id, request.limits) : null
      const { home, privileges } = this
      machine = await Machine.start({ ...request, home, dir, upper: join(dir, 'upper'), privileges, group })
      saveLease(dir, id, request.owner, machine.holderIdentity())
      return { id, dir, machine, dispose }
    } catch (error) {
      await dispose()
      throw error
    }
  }

  private async unmake(id: string, dir: string, machine: () => Machine | undefined): Promise<void> {
    await machine()?.stop()
    await this.discard(id, dir)
  }

  /**
   * Removes what is left of a machine whose processes are dead or about to be killed. Files that cannot be removed are
   * moved aside, where they do no harm; returns true if that was necessary.
   */
  async discard(id: string, dir: string): Promise<boolean> {
    await this.groups.at(id).remove()
    const stuck = await removals
      .run(unbounded, () => patiently(() => this.removeDir(dir)))
      .then(
        () => false,
        () => true,
      )
    if (stuck) await rename(dir, join(this.home, quarantine, id)).catch(() => {})
    if (forgetLease(dir) === 0) this.groups.removeParent()
    return stuck
  }

  /** Tries again to remove what was moved aside; returns what is still there. */
  async emptyQuarantine({ dryRun }: { readonly dryRun: boolean }): Promise<string[]> {
    const dir = join(this.home, quarantine)
    const ids = await readdir(dir).catch(() => [])
    if (!dryRun) for (const id of ids) await this.removeDir(join(dir, id)).catch(() => {})
    return dryRun ? ids : readdir(dir).catch(() => [])
  }

  /** An ordinary user's sandbox holds files of its subordinate users, which only its own root may remove. */
  async removeDir(dir: string): Promise<void> {
    if (this.privileges.mode === 'user') {
      const child = await spawnProcess('unshare', [...this.privileges.unshare, 'rm', '-rf', '--', dir], {
        stdio: 'ignore',
        env: cleanEnv,
      })
      await once(child, 'close')
    }
    if (this.privileges.ownIds && (await removeByStarter(dir))) return
    await removeTree(dir)
  }
}

/** More at once would only wait for the same disk. */
const removals = new Semaphore(16)
/** Starting sandboxes one after another lets the first trials proceed while the last ones still wait. */
const starts = new Semaphore(4 * availableParallelism())
const unbounded = new AbortController().signal
setMaxListeners(0, unbounded)

/** Where files are kept that could not be removed. */
const quarantine = 'quarantine'

/** Makes the directories of a workshop; throws a UserError if that is impossible. */
export async function makeHome(stateDir: string): Promise<string> {
  const home = join(stateDir, 'local')
  if (/[,:\\\s]/.test(home))
    throw new UserError(
      `the state directory ${JSON.stringify(home)} has a comma, colon, backslash or space in its path`,
      'set XDG_CACHE_HOME to a plain path',
    )
  try {
    for (const name of ['bases', 'layers', 'images', 'sandboxes', 'empty', 'merged', quarantine])
      await mkdir(join(home, name), { recursive: true })
    // A program inside may leave set-user-id files in its layer, so no other user of the host may reach them.
    await chmod(home, 0o700)
    return home
  } catch (error) {
    const code = codeOf(error)
    // A full disk stops a job and is reported by its own error.
    if (code === undefined || code === 'ENOSPC' || code === 'EDQUOT') throw error
    throw new UserError(
      `${home}: expected a writable directory for sandboxes, got ${code}`,
      'set XDG_CACHE_HOME to a directory of your own',
    )
  }
}

/** Groups of different state directories must not be confused. */
function groupName(home: string): string {
  return `ot-agent-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`
}
