import { readdirSync, readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reaped, ReapOptions } from '../../core/sandbox.ts'
import { diskBytesOf } from '../../lib/disk.ts'
import { isDeadDraft } from '../../lib/drafts.ts'
import { namesIn } from '../../lib/files.ts'
import { isRunningHere } from '../../lib/process-identity.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { signalProcess } from '../../lib/spawn-process.ts'
import { isAbandoned, type LeaseFile, loadLease, ownerLiveness } from '../namespaces/lease-file.ts'
import type { Workshop } from './workshop.ts'

/**
 * Removes what owners known to be dead left behind: directories, processes, control groups. Nothing else is ever
 * touched.
 */
export async function reap(workshop: Workshop, options: ReapOptions = {}): Promise<readonly Reaped[]> {
  const { dryRun = false } = options
  const reaped: Reaped[] = []
  const ids = await readdir(workshop.sandboxesDir).catch(() => [])
  let known: readonly Mounting[] | null = null
  const mounting = () => (known ??= processesWithMounts())
  for (const id of ids) {
    const dir = join(workshop.sandboxesDir, id)
    const lease = loadLease(dir)
    const what = lease ? `left by process ${lease.process.pid}` : 'without a lease'
    const found = { id, owner: lease?.owner ?? noOwner, what }
    if (!isAbandoned(found, lease, { dir, ownersDir: workshop.ownersDir }, options)) continue
    const bytes = await diskBytesOf(dir)
    let stuck = false
    if (!dryRun) {
      endHolder(lease, id, mounting)
      stuck = await workshop.discard(id, dir)
    }
    if (!stuck) reaped.push({ ...found, bytes })
  }
  for (const id of await workshop.emptyQuarantine({ dryRun }))
    reaped.push({ id, owner: noOwner, what: `files that could not be removed, in ${workshop.home}` })
  reaped.push(...(await reapDrafts(workshop, dryRun)))
  reaped.push(...(await reapGroups(workshop, options)))
  if (!dryRun) await workshop.cache.forgetDead()
  return reaped
}

const noOwner = { job: '', trial: '' }

/**
 * The holder dies with its owner; this is for the moment before it has. If the owner died while the holder started,
 * half of bubblewrap may be waiting for the other half forever. No lease names it, but it has the sandbox's mounts.
 */
function endHolder(lease: LeaseFile | null, id: string, mounting: () => readonly Mounting[]): void {
  if (lease?.holder && isRunningHere(lease.holder)) signalProcess(lease.holder.pid, 'SIGKILL')
  else for (const { pid, mounts } of mounting()) if (mounts.includes(`sandboxes/${id}/`)) signalProcess(pid, 'SIGKILL')
}

interface Mounting {
  readonly pid: number
  readonly mounts: string
}

/** Processes with mounts of sandboxes, whose paths may be relative. */
function processesWithMounts(): Mounting[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const all = pids.map((pid) => ({ pid: Number(pid), mounts: mountsOf(pid) }))
  return all.filter(({ mounts }) => mounts.includes('sandboxes/'))
}

/** Empty for a process that has ended, or that this user may not examine. */
function mountsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Bases whose builder died while building them; those of earlier versions, which do not name their builder, after a
 * day.
 */
async function reapDrafts(workshop: Workshop, dryRun: boolean): Promise<Reaped[]> {
  const dir = join(workshop.home, 'bases')
  const reaped: Reaped[] = []
  for (const name of await namesIn(dir)) {
    const isOld = /\.\d+\.tmp$/.test(name) && Date.now() - (await stat(join(dir, name))).mtimeMs > 86_400_000
    if (!isOld && !isDeadDraft(name, workshop.ownersDir)) continue
    const bytes = await diskBytesOf(join(dir, name))
    if (!dryRun) await removeTree(join(dir, name))
    reaped.push({ id: name, owner: noOwner, what: 'a base that was never finished', bytes })
  }
  return reaped
}

/**
 * A group without a sandbox's directory; the directory may simply be newer than our check, so its owner must be dead
 * too.
 */
async function reapGroups(workshop: Workshop, { dryRun = false }: ReapOptions): Promise<Reaped[]> {
  const owned = new Set(await readdir(workshop.sandboxesDir).catch(() => []))
  const { sandboxesDir, ownersDir } = workshop
  const isOrphan = (id: string) =>
    !owned.has(id) && ownerLiveness(id, null, { dir: join(sandboxesDir, id), ownersDir }) === 'dead'
  const orphans = workshop.groups.list().filter(isOrphan)
  if (!dryRun) {
    for (const id of orphans) await workshop.groups.at(id).remove()
    if (owned.size === 0) workshop.groups.removeParent()
  }
  return orphans.map((id) => ({ id, owner: noOwner, what: 'a control group without a sandbox' }))
}
