import { definePlugin } from '../core/plugin.ts'
import { engineOptions, makeContainers } from './containers/provider.ts'
import { podmanKind } from './containers/sockets.ts'
import { withAllowlist } from './namespaces/allowlist.ts'

/** Containers of a Podman service, through Docker's interface. */
export default definePlugin({
  name: 'podman',
  summary: 'containers of a Podman service on this machine, with or without root',
  options: engineOptions,
  make: (options, context) => withAllowlist(makeContainers(podmanKind, options, context)),
})
