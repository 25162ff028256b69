import { fstatSync, readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

/** What to say when a command that keeps finished work was stopped; `flag` would discard that work. */
export function howToContinue(flag: string | null = null): string {
  return `finished work is kept: run the same command again ${flag === null ? '' : `without ${flag} `}to continue`
}

/** A signal sent to all processes of a job, plus a job script that forwards it, arrives twice within this time. */
const sameWishMs = 5000

/**
 * A signal that a first Ctrl-C (or SIGTERM, or SIGHUP) aborts; a second one ends the process at once. A SIGTERM shortly
 * after the first does not count as a second: schedulers signal every process of a job, and the job's script forwards
 * the signal again. Under `nohup`, SIGHUP does nothing.
 */
export function interruptSignal(hangupIsIgnored = ignoresHangup()): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  let firstAtMs = 0
  const onSignal = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      firstAtMs = Date.now()
      process.stderr.write('stopping; press Ctrl-C again to stop immediately\n')
      controller.abort()
    } else if (name === 'SIGINT' || Date.now() - firstAtMs > sameWishMs) process.exit(130)
  }
  const onHangup = hangupIsIgnored ? () => {} : onSignal
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const name of signals) process.on(name, onSignal)
  process.on('SIGHUP', onHangup)
  return {
    signal: controller.signal,
    stop: () => {
      for (const name of signals) process.off(name, onSignal)
      // Without a listener, the next SIGHUP would kill even a process started with nohup.
      if (!hangupIsIgnored) process.off('SIGHUP', onHangup)
    },
  }
}

/**
 * Whether this process was started to survive its terminal. Node resets ignored signals that a process inherits, so we
 * look at the traces nohup leaves: the shell's `_`, a parent that ignores SIGHUP, or output to files with no terminal
 * at all.
 */
function ignoresHangup(): boolean {
  if (/(^|\/)nohup$/.test(process.env._ ?? '')) return true
  if (parentIgnoresHangup()) return true
  return ![0, 1, 2].some((fd) => isatty(fd)) && [1, 2].every(isFile)
}

function parentIgnoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${process.ppid}/status`, 'utf8'))?.[1]
    return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 1n
  } catch {
    return false
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}
