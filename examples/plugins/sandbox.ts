// A provider leases sandboxes of one kind. This one is `local`, and prints what it does: ot-agent run ... -e ./examples/plugins/sandbox.ts
import { definePlugin, makeProvider, type SandboxProvider, z } from 'ot-agent'

const local = await makeProvider('local')

export default definePlugin({
  name: 'talking-local',
  summary: 'Local sandboxes that are announced on stderr',
  options: z.strictObject({ greeting: z.string().default('a sandbox for').describe('What is said') }),
  make: ({ greeting }): SandboxProvider => ({
    name: 'talking-local',
    can: local.can,
    preflight: (asked) => local.preflight(asked),
    lease: (request) => {
      console.error(greeting, request.owner.trial)
      return local.lease(request)
    },
    reap: (...asked) => local.reap(...asked),
  }),
})
