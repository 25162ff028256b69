import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { CacheReport, Reaped } from '../core/sandbox.ts'
import type { PlugInChoice } from '../core/stage.ts'
import { diskBytesOf } from '../lib/disk.ts'
import { type Leftover, sweepLeftovers } from '../lib/leftovers.ts'
import { makeProvider, pluginContext } from '../plugins/make.ts'
import { claimsIn } from '../store/job-owner.ts'
import { type OrphanServer, stopOrphanServers } from './serve/server-notes.ts'

export interface CleanRequest {
  readonly sandbox: PlugInChoice
  readonly dryRun: boolean
  /** Also removes what may have a live owner elsewhere but has shown no sign of life for this long. */
  readonly olderThanSec?: number | undefined
}

/** What dead owners left: sandboxes, and files next to outputs, in caches and in the temporary directory. */
export interface Remains {
  readonly reaped: readonly Reaped[]
  readonly leftovers: readonly Leftover[]
}

/**
 * Removes what dead owners left, and stops the model servers they started. What may have a live owner is listed as
 * `kept`.
 */
export async function clean({
  sandbox,
  dryRun,
  olderThanSec,
}: CleanRequest): Promise<{ found: Remains; kept: Remains; servers: readonly OrphanServer[] }> {
  const servers = await stopOrphanServers({ dryRun })
  const provider = await makeProvider(sandbox.name, sandbox.options)
  const left: Reaped[] = []
  const reaped = await provider.reap({
    dryRun,
    ...(olderThanSec !== undefined && { olderThanSec }),
    left: (thing) => void left.push(thing),
  })
  const { stateDir } = pluginContext()
  const swept = await sweepLeftovers({ stateDir, dryRun, olderThanSec, claims: claimsIn })
  return { found: { reaped, leftovers: swept.removed }, kept: { reaped: left, leftovers: swept.left }, servers }
}

export interface CleanCacheRequest {
  readonly sandbox: PlugInChoice
  readonly dryRun: boolean
  /** Overrides the sandbox's own limit. */
  readonly limitBytes?: number | undefined
}

/** Trims the sandbox cache to its limit, least recently used first, and measures the other caches. */
export async function cleanCache({ sandbox, dryRun, limitBytes }: CleanCacheRequest): Promise<{
  readonly report: CacheReport
  readonly others: readonly { readonly path: string; readonly bytes: number }[]
}> {
  const provider = await makeProvider(sandbox.name, sandbox.options)
  if (!provider.prune)
    throw new UserError(
      `-e ${provider.name}: expected a kind of sandbox that caches files on this machine`,
      'remove -e to see local sandboxes; a container engine has its own command, for example docker image prune',
    )
  const report = await provider.prune({ dryRun, ...(limitBytes !== undefined && { limitBytes }) })
  return { report, others: await otherCaches() }
}

/** Other caches; all of them can be removed while nothing is running. */
async function otherCaches() {
  const { stateDir } = pluginContext()
  const paths = ['tools', 'hub', 'responses', 'judge', 'apptainer/images'].map((name) => join(stateDir, name))
  const measured = await Promise.all(paths.map(async (path) => ({ path, bytes: await diskBytesOf(path) })))
  return measured.filter(({ bytes }) => bytes > 0)
}
