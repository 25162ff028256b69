import { note } from '../output.ts'
import type { Running } from './running.ts'
import { stopped } from './serve-engine.ts'

/** Copies that answer, and where. */
export interface FoundReplicas {
  readonly group: { readonly server: Pick<Running, 'gone'> }
  readonly urls: readonly string[]
}

/**
 * Waits until the signal is aborted, or throws what the last one died of. Tells who is left whenever one dies, one telling
 * after the other; none is still under way or begins when this has ended.
 */
export async function watchReplicas(
  found: readonly FoundReplicas[],
  tell: (left: readonly string[]) => Promise<void>,
  signal: AbortSignal,
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
        note(`${each.urls.join(', ')}: ${error instanceof Error ? error.message : error}; ${alive.size} go on`)
        told = told.then(() => tell([...alive].flatMap(({ urls }) => urls)))
        told.catch(reject)
      })
  })
  try {
    await Promise.race([lastGone, stopped(signal)])
  } finally {
    ended = true
    await told.catch(() => {})
  }
}
