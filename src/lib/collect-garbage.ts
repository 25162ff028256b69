import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/**
 * Frees unused memory now. V8 lets garbage grow to several times the memory in use before it collects, which is fine
 * for a short-lived program, but not for a server that once read gigabytes.
 */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc')
    const found: unknown = runInNewContext('gc')
    collect = typeof found === 'function' ? () => void found() : () => {}
  }
  collect()
}

/**
 * The same later, when recently used values are no longer on the stack. V8 returns the memory of short-lived values
 * only on the second collection.
 */
export async function collectLater(): Promise<void> {
  for (const ms of [0, 1000, 1000]) {
    await setTimeout(ms, undefined, { ref: false })
    collectGarbage()
  }
}
