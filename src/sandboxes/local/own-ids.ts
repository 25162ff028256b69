import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import { draftOf, removeDraft } from '../../lib/drafts.ts'
import { startProcess } from './starter.ts'

/**
 * Gives users of root's sandboxes their own ids: user 0 inside is an ordinary user outside, without rights over the
 * host's files. Every file of a sandbox is shown through an id-mapped mount, so its owner on disk stays the same.
 */
export interface OwnIds {
  /** A process in the user namespace of all sandboxes. */
  readonly usernsPid: number
  /** The host's id for user 0 inside. */
  readonly first: number
}

export const idCount = 65_536

/** Above what systemd assigns; no user of a usual host has such an id. */
const usualFirst = 0x7000_0000

/** The first id of the range: root's in /etc/subuid if it has a suitable one. */
export function firstOwnId(subuid = readIfThere('/etc/subuid')): number {
  for (const line of subuid.split('\n')) {
    const [name, first, count] = line.split(':')
    const isInRange = Number(first) >= idCount && Number(first) + idCount < 2 ** 32
    if (name === 'root' && isInRange && Number(count) >= idCount) return Number(first)
  }
  return usualFirst
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** One thing to mount, in order; `idmap` shows a directory at another place under the sandboxes' ids. */
export type Mount =
  | { readonly kind: 'idmap'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  | { readonly kind: 'overlay'; readonly target: string; readonly options: string }

/** Mounts in the starter's format. */
export function mountWords(mounts: readonly Mount[]): string[] {
  return mounts.flatMap((mount) =>
    mount.kind === 'overlay'
      ? ['overlay', mount.target, mount.options]
      : [mount.readOnly ? 'idmap-ro' : 'idmap', mount.target, mount.source],
  )
}

/** Arguments that let nsenter enter the user namespace of all sandboxes, as its root. */
export function enterOwnIds({ usernsPid }: OwnIds): string[] {
  return [`--user=/proc/${usernsPid}/ns/user`]
}

/** Tries it where sandboxes will be, over the host's own programs: file systems differ in what they allow. */
export async function tryOwnIds(ids: OwnIds, home: string): Promise<boolean> {
  const dir = draftOf(join(home, 'bases', 'own-ids'))
  const [merged, upper, work] = [join(dir, 'merged'), join(dir, 'upper'), join(dir, 'work')]
  try {
    for (const path of [merged, upper, work]) mkdirSync(path, { recursive: true })
    const options = `lowerdir=${merged},upperdir=${relative(home, upper)},workdir=${relative(home, work)}`
    const plan: Mount[] = [
      { kind: 'idmap', source: '/usr', target: merged, readOnly: false },
      { kind: 'overlay', target: merged, options },
    ]
    const mounts = { home, plan: mountWords(plan) }
    const touch = ['touch', join(merged, 'file')]
    const process = await startProcess({ ids, mounts, argv: touch, streams: [], limitBytes: 0 })
    const [code] = await once(process, 'exit')
    return code === 0
  } catch (error) {
    // The starter is missing or cannot do its part; this machine having no room for a process is a different matter.
    if (error instanceof BoundaryError) return false
    throw error
  } finally {
    await removeDraft(dir)
  }
}
