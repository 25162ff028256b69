import type { BoundaryError } from '../../core/errors.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { onExhaustion, type Resource } from '../../lib/exhaustion.ts'
import { refusedForks } from '../../lib/machine-limits.ts'
import { ranOut } from '../exhausted.ts'

/** What programs in a sandbox can run out of together with us; descriptors are each process's own. */
const shared: readonly Resource[] = ['processes', 'memory']

export interface ShortageWatch {
  /** The failure of a trial that ran meanwhile; null when nothing ran out. */
  met(): BoundaryError | null
  stop(): void
}

/**
 * Notices when this machine runs out of processes or memory while a trial runs. Its agent and its tests may have met that
 * too, and what they came to is then no result: neither a 0 nor a 1.
 */
export function watchShortage({ remote = false }: Pick<SandboxProvider, 'remote'>): ShortageWatch {
  if (remote) return { met: () => null, stop: () => {} }
  const forks = refusedForks()
  let met: Resource | null = null
  const stop = onExhaustion((resource) => {
    if (shared.includes(resource)) met ??= resource
  })
  return {
    stop,
    met: () => {
      const resource = met ?? (refusedForks() > forks ? 'processes' : null)
      return resource && ranOut(resource, 'programs in the sandbox may have run into it too')
    },
  }
}
