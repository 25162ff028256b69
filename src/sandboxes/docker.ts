import { definePlugin } from '../core/plugin.ts'
import { engineOptions, makeContainers } from './containers/provider.ts'
import { dockerKind } from './containers/sockets.ts'
import { withAllowlist } from './namespaces/allowlist.ts'

/** Containers of a Docker engine, used through its socket. */
export default definePlugin({
  name: 'docker',
  summary: 'containers of a Docker engine on this machine',
  options: engineOptions,
  make: (options, context) => withAllowlist(makeContainers(dockerKind, options, context)),
})
