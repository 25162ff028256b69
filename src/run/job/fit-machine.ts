import { UserError } from '../../core/errors.ts'
import type { SandboxNeeds } from '../../core/sandbox.ts'
import type { Resource } from '../../lib/exhaustion.ts'
import type { MachineLimit } from '../../lib/machine-limits.ts'

/** What a job takes beside its trials: its own files and sockets, what it builds, programs that run for a moment. */
const ofJob: Readonly<Partial<Record<Resource, number>>> = { 'file descriptors': 30, processes: 30 }

/** Throws a UserError when the trials that are to run at once need more than this machine lets us have. */
export function requireRoom(atOnce: number, needs: SandboxNeeds, limits: readonly MachineLimit[]): void {
  const perTrial: Partial<Record<Resource, number>> = {
    'file descriptors': needs.descriptors,
    processes: needs.processes,
  }
  for (const { resource, name, limit, free } of limits) {
    const each = perTrial[resource] ?? 0
    const rest = ofJob[resource] ?? 0
    const needed = each === 0 ? 0 : rest + each * atOnce
    if (needed <= free) continue
    const fits = Math.floor((free - rest) / each)
    throw new UserError(
      `${atOnce} trials at once need about ${needed} ${resource}, but ${name} is ${limit} and leaves ${Math.max(0, free)}`,
      fits > 0 ? `run at most ${fits} at once (-n ${fits}), or raise ${name}` : `raise ${name}`,
      3,
    )
  }
}
