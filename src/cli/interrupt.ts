/** Whoever tells all processes of a job to stop, and a script that passes on what it was told, have said it twice by then. */
const sameWishMs = 5000

/**
 * A signal that a first Ctrl-C (or SIGTERM) aborts; a second one ends the process at once. A SIGTERM right after the first
 * is no second wish: schedulers tell every process of a job, and the job's script tells them again.
 */
export function interruptSignal(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  let firstAtMs = 0
  const onSignal = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      firstAtMs = Date.now()
      process.stderr.write('stopping; again to stop at once\n')
      controller.abort()
    } else if (name === 'SIGINT' || Date.now() - firstAtMs > sameWishMs) process.exit(130)
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const name of signals) process.on(name, onSignal)
  return {
    signal: controller.signal,
    stop: () => {
      for (const name of signals) process.off(name, onSignal)
    },
  }
}
