import type { SandboxLease, SandboxProvider, SandboxRequest } from '../../src/core/sandbox.ts'

/** Faults in every sandbox of a provider: replacements for some methods, which can call the real ones. */
export interface Faults {
  readonly lease?: (request: SandboxRequest, really: () => Promise<SandboxLease>) => Promise<SandboxLease>
  /** From the real sandbox, the methods that behave differently. */
  readonly inside?: (real: SandboxLease) => Partial<SandboxLease>
}

/** A real provider with faults. It leases real sandboxes and really releases them, unless that is the fault. */
export function faultyProvider(real: SandboxProvider, faults: Faults): SandboxProvider {
  const lease = async (request: SandboxRequest) => {
    const owned = await real.lease(request)
    return faults.inside ? overlay(owned, faults.inside(owned)) : owned
  }
  return {
    name: real.name,
    can: real.can,
    preflight: () => real.preflight(),
    reap: (options) => real.reap(options),
    lease: (request) => (faults.lease ? faults.lease(request, () => lease(request)) : lease(request)),
  }
}

/** The real object, except for the given methods. */
function overlay<T extends object>(real: T, changes: Partial<T>): T {
  return new Proxy(real, {
    get: (target, key) => {
      if (key in changes) return Reflect.get(changes, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
