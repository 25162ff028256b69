import { untilAborted } from '../../lib/deadline.ts'
import type { Notify } from '../job/tasks-request.ts'
import type { ServerProcess } from './server-process.ts'

/** Copies that answer, and where. */
export interface FoundReplicas {
  readonly group: { readonly server: Pick<ServerProcess, 'gone'> }
  readonly urls: readonly string[]
}

export interface Watching {
  /** Is called with the addresses that are left. */
  tell(left: readonly string[]): Promise<void>
  readonly notify: Notify
  readonly signal: AbortSignal
}

/**
 * Waits until the signal is aborted, or throws what the last one died of. Tells who is left whenever one dies, one telling
 * after the other; none is still under way or begins when this has ended.
 */
export async function watchReplicas(
  found: readonly FoundReplicas[],
  { tell, notify, signal }: Watching,
): Promise<void> {
  const alive = new Set(found)
  let told = Promise.resolve()
  let ended = false
  const lastGone = new Promise<never>((_, reject) => {
    for (const each of found)
      each.group.server.gone.catch((error: unknown) => {
        alive.delete(each)
        if (alive.size === 0) reject(error)
        if (ended || alive.size === 0) return
        notify(`${each.urls.join(', ')}: ${error instanceof Error ? error.message : error}; ${alive.size} left`)
        told = told.then(() => tell([...alive].flatMap(({ urls }) => urls)))
        told.catch(reject)
      })
  })
  try {
    await Promise.race([lastGone, untilAborted(signal)])
  } finally {
    ended = true
    await told.catch(() => {})
  }
}
