import type { SandboxProvider, SandboxRequest } from '../../core/sandbox.ts'
import { behindGate, type Lease, type OpenGate } from '../common/lease.ts'

/** A provider of this program's own leases. */
export interface LeaseProvider extends SandboxProvider {
  lease(request: SandboxRequest): Promise<Lease>
}

/**
 * Makes a provider whose sandboxes have doors able to allow only some hosts: such a sandbox has no network at all, and
 * a door to our proxy, which knows the list. Programs find it through the usual variables; one that ignores them
 * reaches nothing.
 */
export function withAllowlist(provider: LeaseProvider): SandboxProvider {
  return {
    ...provider,
    can: { ...provider.can, network: [...provider.can.network, 'allowlist'] },
    preflight: async (how) => {
      // Loaded before the first trial that may need it: an import that fails once fails forever.
      if (how?.networks?.includes('allowlist') ?? true) await hostGate()
      await provider.preflight(how)
    },
    lease: async (request) => {
      const { network } = request.environment
      const environment = { ...request.environment, network: behindGate(network) }
      return (await provider.lease({ ...request, environment })).guardBy(openProxy, network)
    },
  }
}

/** The proxy's own code; most jobs never use it. */
const hostGate = () => Promise.all([import('./host-gate.ts'), import('./allowed-hosts.ts')])

const openProxy: OpenGate = async (network, openDoor) => {
  if (network.mode !== 'allowlist' || network.hosts.length === 0) return null
  const [{ openHostGate }, { AllowedHosts }] = await hostGate()
  const proxy = openHostGate(new AllowedHosts(network.hosts))
  const door = await openDoor(proxy.accept)
  return {
    env: proxyVariables(door.url),
    close: async () => {
      proxy.close()
      await door.close()
    },
  }
}

/**
 * The variables that curl, wget, git, apt, pip, npm and Node read; servers inside the sandbox itself are reached
 * directly.
 */
function proxyVariables(url: string): Record<string, string> {
  const direct = 'localhost,127.0.0.1,::1'
  const both = (name: string, value: string) => ({ [name]: value, [name.toUpperCase()]: value })
  return {
    ...both('http_proxy', url),
    ...both('https_proxy', url),
    ...both('no_proxy', direct),
    NODE_USE_ENV_PROXY: '1',
  }
}
