import type { z } from 'zod'
import type { Agent } from '../core/agent.ts'
import { UserError } from '../core/errors.ts'
import type { Scheduler } from '../core/launch.ts'
import type { Engine } from '../core/model.ts'
import type { Plugin, PluginContext } from '../core/plugin.ts'
import type { SandboxProvider } from '../core/sandbox.ts'
import { describeOptions } from '../lib/describe-options.ts'
import { nearest } from '../lib/nearest.ts'
import { defaultStateDir } from '../lib/process-identity.ts'
import { tellingIssue } from '../lib/telling-issue.ts'
import { meets, type Need, type SandboxAlternatives } from '../run/trial/environment.ts'
import { registry } from './table.ts'

/** Where caches and leases live: `$XDG_CACHE_HOME/ot-agent`. */
export function pluginContext(): PluginContext {
  return { env: process.env, stateDir: defaultStateDir(process.env) }
}

type Options = Readonly<Record<string, unknown>>

/** Makes a kind of sandbox by its name, for example `local`; a wrong name or option is a UserError. */
export async function makeProvider(name: string, options: Options = {}): Promise<SandboxProvider> {
  return makeNamed('sandbox', registry.sandboxes, name, options)
}

/** Makes an agent by its name, for example `oracle`; a wrong name or option is a UserError. */
export async function makeAgent(name: string, options: Options = {}): Promise<Agent> {
  return makeNamed('agent', registry.agents, name, options)
}

/** Makes an engine by its name, for example `openai-compatible`; a wrong name or option, or a missing key, is a UserError. */
export async function makeEngine(name: string, options: Options = {}): Promise<Engine> {
  return makeNamed('engine', registry.engines, name, options)
}

/** Refuses an engine that does not exist, or options that are not its own; a key that is missing is not looked for. */
export async function checkEngineOptions(name: string, options: Options): Promise<void> {
  const load = Object.hasOwn(registry.engines, name)
    ? registry.engines[name as keyof typeof registry.engines]
    : undefined
  if (load) parseOptions('engine', (await load()).default as Plugin<Engine>, options)
  else await makeEngine(name, options)
}

/** Makes what gives jobs to machines by its name, for example `slurm`; a wrong name is a UserError. */
export async function makeScheduler(name: string): Promise<Scheduler> {
  return makeNamed('scheduler', registry.schedulers, name, {})
}

/** Which kinds of sandbox meet which need, for messages that name an alternative. */
export async function sandboxAlternatives(): Promise<SandboxAlternatives> {
  const providers = await Promise.all(Object.keys(registry.sandboxes).map((name) => makeProvider(name)))
  const meeting = (need: Need) => providers.filter(({ can }) => meets(can, need)).map(({ name }) => name)
  return {
    compose: meeting('compose'),
    images: meeting('images'),
    gpu: meeting('gpu'),
    tpu: meeting('tpu'),
    windows: meeting('windows'),
    allowlist: meeting('allowlist'),
    networkPerPhase: meeting('networkPerPhase'),
    mounts: meeting('mounts'),
    services: meeting('services'),
  }
}

type Table<T> = Readonly<Record<string, () => Promise<{ readonly default: Plugin<T> }>>>

/** Makes what the plug-in of this name in a table makes. */
export async function makeNamed<T>(
  kind: string,
  table: Table<T>,
  name: string,
  options: Options,
  more: Partial<PluginContext> = {},
): Promise<T> {
  const load = Object.hasOwn(table, name) ? table[name] : undefined
  if (!load)
    throw new UserError(`unknown ${kind} ${JSON.stringify(name)}`, `known: ${Object.keys(table).sort().join(', ')}`)
  return makePlugin(kind, (await load()).default, options, more)
}

/** Makes what a plug-in makes; an option it does not know, or a wrong value, is a UserError. */
export function makePlugin<T>(kind: string, plugin: Plugin<T>, options: Options, more: Partial<PluginContext> = {}): T {
  return plugin.make(parseOptions(kind, plugin, options), { ...pluginContext(), ...more })
}

function parseOptions<T, Schema extends z.ZodType>(
  kind: string,
  plugin: Plugin<T, Schema>,
  options: Options,
): z.output<Schema> {
  const parsed = plugin.options.safeParse(options)
  if (!parsed.success) {
    const issue = tellingIssue(parsed.error.issues)
    throw new UserError(
      `${kind} ${plugin.name}: ${issue?.path.join('.') || 'options'}: ${issue?.message ?? 'not valid'}`,
      optionsHint(plugin, issue),
    )
  }
  return parsed.data
}

function optionsHint({ name, options }: Plugin<unknown>, issue: z.core.$ZodIssue | undefined): string {
  const known = describeOptions(options).map((option) => option.name)
  const near = issue?.code === 'unrecognized_keys' ? nearest(issue.keys[0] ?? '', known) : null
  const listed = known.length === 0 ? `${name} has no options` : `the options of ${name}: ${known.join(', ')}`
  return near === null ? listed : `did you mean ${near}? ${listed}`
}
