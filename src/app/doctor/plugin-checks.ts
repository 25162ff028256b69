import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import type { Plugin } from '../../core/plugin.ts'
import { findProgram } from '../../lib/programs.ts'
import { makeAgent, makeEngine, makeProvider } from '../../plugins/make.ts'
import { registry } from '../../plugins/table.ts'
import { type Check, type Found, limited, missing, ok, type Surroundings } from './check.ts'

/** One check per named kind of sandbox, engine and agent. */
export function pluginChecks(): readonly Check[] {
  return [
    ...Object.keys(registry.sandboxes).map((name) => ({ name: `sandbox/${name}`, look: () => sandbox(name) })),
    ...Object.entries(registry.engines).map(([name, load]) => ({
      name: `engine/${name}`,
      look: async (at: Surroundings) => engine(name, (await load()).default, at),
    })),
    ...Object.keys(registry.agents).map((name) => ({ name: `agent/${name}`, look: () => agent(name) })),
  ]
}

async function sandbox(name: string): Promise<Found> {
  const provider = await makeProvider(name)
  await provider.preflight()
  const { can, remote } = provider
  const extras = (['images', 'compose', 'gpu', 'windows'] as const).filter((ability) => can[ability])
  const about = (await provider.about?.()) ?? []
  const abilities = [...about, `network: ${can.network.join(', ')}`, ...extras]
  const found = `${remote ? 'an account; ' : ''}${abilities.join('; ')}`
  try {
    if (!remote) await provider.preflight({ networks: ['public'] })
    return ok(found)
  } catch (error) {
    if (error instanceof UserError) return limited(error.message, error.hint)
    throw error
  }
}

async function engine(name: string, plugin: Plugin<Engine>, at: Surroundings): Promise<Found> {
  const needed = plugin.options.safeParse({}).error?.issues.map(({ path }) => path.join('.')) ?? []
  if (needed.length === 0) {
    const { endpoint } = await makeEngine(name)
    if (endpoint === null) return ok('needs no account')
    return ok(`${endpoint.baseUrls.join(', ')}${endpoint.apiKey === null ? '' : ', a key is set'}, not tried`)
  }
  const unknown = `needs ${needed.join(', ')}`
  if (!needed.includes('api_base')) return limited(unknown, `ot-agent engines show ${name} explains its options`)
  if (at.apiBase === null) return limited(unknown, 'ot-agent doctor --api-base URL checks a server')
  return server(name, at.apiBase, at.signal)
}

/** Checks a given model server with one request. */
async function server(name: string, apiBase: string, signal: AbortSignal): Promise<Found> {
  const made = await makeEngine(name, { api_base: apiBase, healthcheck_max_attempts: 1 })
  const health = await made.health(signal)
  if (!health.healthy) return missing(health.reason, 'check --api-base, and that the server is running')
  const models = health.models?.slice(0, 3).join(', ')
  return ok(models ? `answers, serves ${models}` : 'answers')
}

/**
 * Agents with their own tools get them from npm or pip; anything else an agent lacks, it reports when it gets a task.
 */
async function agent(name: string): Promise<Found> {
  const made = await makeAgent(name)
  if (!made.toolDirs) return ok(made.needsModel ? 'needs a model' : 'needs nothing')
  const absent = ['node', 'npm'].filter((program) => findProgram(program) === null)
  if (absent.length > 0) return missing(`no ${absent.join(', no ')} to install it with`, 'install Node.js with npm')
  return ok(`version ${made.version}, installed on first use`)
}
