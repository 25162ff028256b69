import type { SandboxLease } from '../../core/sandbox.ts'
import type { Network } from '../../core/task.ts'
import { atBoundary } from './boundary.ts'
import { sameNetwork } from './environment.ts'

/** Switches a sandbox's network between phases, and only when it differs from what is set. */
export interface PhaseNetwork {
  /** Undefined means the environment's own. */
  use(network: Network | undefined): Promise<void>
}

/** The network of a sandbox that just started with its environment's own. */
export function makePhaseNetwork(lease: SandboxLease, baseline: Network, signal: AbortSignal): PhaseNetwork {
  let current = baseline
  return {
    use: async (network) => {
      const wanted = network ?? baseline
      if (sameNetwork(wanted, current)) return
      await atBoundary('sandbox', signal, () => lease.setNetwork(wanted))
      current = wanted
    },
  }
}
