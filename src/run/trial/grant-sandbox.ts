import { BoundaryError, blame } from '../../core/errors.ts'
import type { Sandbox } from '../../core/sandbox.ts'
import { exhaustedFailure } from '../exhausted.ts'

/** A sandbox in an agent's hands. */
export interface SandboxGrant {
  readonly sandbox: Sandbox
  /** From now on every call is refused, and commands still running through this handle are stopped. */
  revoke(): void
  /** What this machine ran out of in a call, whatever the agent made of that. */
  readonly exhausted: () => BoundaryError | null
}

/**
 * Lends a sandbox to an agent: what breaks in it is blamed on the sandbox, and an agent that
 * does not hear that its time is up can do nothing more to it.
 */
export function grantSandbox(owned: Sandbox): SandboxGrant {
  const taken = new AbortController()
  let exhausted: BoundaryError | null = null
  const call = <T>(work: () => Promise<T>): Promise<T> => {
    if (taken.signal.aborted)
      return Promise.reject(new BoundaryError('agent', 'the sandbox was taken back: the phase is over'))
    return blame('sandbox', work).catch((error: unknown) => {
      exhausted ??= exhaustedFailure(error)
      throw error
    })
  }
  const sandbox: Sandbox = {
    workdir: owned.workdir,
    exec: (argv, options = {}) => {
      const signal = options.signal ? AbortSignal.any([options.signal, taken.signal]) : taken.signal
      return call(() => owned.exec(argv, { ...options, signal }))
    },
    read: (path) => call(() => owned.read(path)),
    write: (path, data, options) => call(() => owned.write(path, data, options)),
    uploadDir: (source, target) => call(() => owned.uploadDir(source, target)),
    downloadDir: (source, target, options) => call(() => owned.downloadDir(source, target, options)),
    openTerminal: (options) => call(() => owned.openTerminal(options)),
    openDoor: (accept) => call(() => owned.openDoor(accept)),
  }
  return { sandbox, revoke: () => taken.abort(), exhausted: () => exhausted }
}
