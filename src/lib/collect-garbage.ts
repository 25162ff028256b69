import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/**
 * Frees what is not in use any more, now. V8 lets garbage grow to several times of what is in use before it looks, which is fine for a
 * program that ends soon, and not for a server that read gigabytes once.
 */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc')
    const found: unknown = runInNewContext('gc')
    collect = typeof found === 'function' ? () => void found() : () => {}
  }
  collect()
}

/** The same later, when what was used last is not on the stack any more. V8 gives the room of short-lived values back at the second time only. */
export async function collectLater(): Promise<void> {
  for (const ms of [0, 1000, 1000]) {
    await setTimeout(ms, undefined, { ref: false })
    collectGarbage()
  }
}
