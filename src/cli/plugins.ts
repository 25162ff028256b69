import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '../core/agent.ts'
import { UserError } from '../core/errors.ts'
import type { Plugin, PluginContext } from '../core/plugin.ts'
import type { SandboxProvider } from '../core/sandbox.ts'
import { registry } from '../registry.ts'

/** Where caches and leases live: `$XDG_CACHE_HOME/ot-agent`. */
export function pluginContext(): PluginContext {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  return { env: process.env, stateDir: join(cache, 'ot-agent') }
}

export async function makeProvider(name: string, kwargs: Readonly<Record<string, unknown>>): Promise<SandboxProvider> {
  return make('sandbox', registry.sandboxes, name, kwargs)
}

export async function makeAgent(name: string, kwargs: Readonly<Record<string, unknown>>): Promise<Agent> {
  return make('agent', registry.agents, name, kwargs)
}

type Table<T> = Readonly<Record<string, () => Promise<{ readonly default: Plugin<T> }>>>

async function make<T>(kind: string, table: Table<T>, name: string, kwargs: Readonly<Record<string, unknown>>): Promise<T> {
  const load = Object.hasOwn(table, name) ? table[name] : undefined
  if (!load) throw new UserError(`unknown ${kind} ${JSON.stringify(name)}`, `known: ${Object.keys(table).sort().join(', ')}`)
  const plugin = (await load()).default
  const parsed = plugin.options.safeParse(kwargs)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new UserError(`${kind} ${name}: ${issue?.path.join('.') || 'options'}: ${issue?.message ?? 'not valid'}`, `options of ${name} are strict; check their names and values`)
  }
  return plugin.make(parsed.data, pluginContext())
}
