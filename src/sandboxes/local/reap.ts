import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reaped } from '../../core/sandbox.ts'
import { livenessOf } from '../../lib/process-identity.ts'
import { type LeaseFile, loadLease, ownerFromId } from './lease-file.ts'
import type { Workshop } from './workshop.ts'

/** Removes what dead owners left: directories, processes, control groups. A live owner's things are never touched. */
export async function reap(
  workshop: Workshop,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<readonly Reaped[]> {
  const reaped: Reaped[] = []
  const ids = await readdir(workshop.sandboxesDir).catch(() => [])
  for (const id of ids) {
    const dir = join(workshop.sandboxesDir, id)
    const lease = loadLease(dir)
    if (!isAbandoned(id, lease)) continue
    if (!dryRun) {
      endHolder(lease)
      await workshop.discard(id, dir)
    }
    reaped.push({
      id,
      owner: lease?.owner ?? { job: '', trial: '' },
      what: lease ? `left by process ${lease.process.pid}` : 'without a lease',
    })
  }
  reaped.push(...(await reapGroups(workshop, dryRun)))
  return reaped
}

function isAbandoned(id: string, lease: LeaseFile | null): boolean {
  const owner = lease?.process ?? ownerFromId(id)
  return owner !== null && livenessOf(owner) === 'dead'
}

/** The holder dies with its owner; this is for the moment when it has not yet. */
function endHolder(lease: LeaseFile | null): void {
  if (lease?.holder && livenessOf(lease.holder) === 'alive') process.kill(lease.holder.pid, 'SIGKILL')
}

/** A group without a sandbox's directory; the directory may only be newer than our look at it, so its owner must be dead too. */
async function reapGroups(workshop: Workshop, dryRun: boolean): Promise<Reaped[]> {
  const owned = new Set(await readdir(workshop.sandboxesDir).catch(() => []))
  const orphans = workshop.groups.list().filter((id) => !owned.has(id) && isAbandoned(id, null))
  if (!dryRun) {
    for (const id of orphans) await workshop.groups.at(id).remove()
    if (owned.size === 0) workshop.groups.removeParent()
  }
  return orphans.map((id) => ({ id, owner: { job: '', trial: '' }, what: 'a control group without a sandbox' }))
}
