/** A signal that a first Ctrl-C (or SIGTERM) aborts; a second one ends the process at once. */
export function interruptSignal(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130)
    process.stderr.write('stopping; again to stop at once\n')
    controller.abort()
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
