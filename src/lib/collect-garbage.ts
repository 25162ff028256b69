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
