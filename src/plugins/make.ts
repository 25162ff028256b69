import type { Agent } from '../core/agent.ts'
import type { Judge } from '../core/judge.ts'
import type { Scheduler } from '../core/launch.ts'
import type { Engine } from '../core/model.ts'
import type { Plugin } from '../core/plugin.ts'
import type { SandboxProvider } from '../core/sandbox.ts'
import { meets, type SandboxAlternatives } from '../run/trial/environment.ts'
import { makeNamed, parseOptions } from './make-plugin.ts'
import { registry } from './table.ts'
import { isModulePath } from './user-modules/import-path.ts'

export { makeNamed, makePlugin, pluginContext } from './make-plugin.ts'

type Options = Readonly<Record<string, unknown>>

/** Loaded only when a user's module is named. */
const userModules = () => import('./user-modules/make-imported.ts')

/** Makes a kind of sandbox by its name, for example `local`, or from a user's module; a wrong name or option is a UserError. */
export async function makeProvider(name: string, options: Options = {}): Promise<SandboxProvider> {
  if (isModulePath(name)) return (await userModules()).makeImportedProvider(name, options)
  return makeNamed({ kind: 'sandbox', table: registry.sandboxes }, name, options)
}

/** Makes an agent by its name, for example `oracle`, or from a user's module; a wrong name or option is a UserError. */
export async function makeAgent(name: string, options: Options = {}): Promise<Agent> {
  if (isModulePath(name)) return (await userModules()).makeImportedAgent(name, options)
  return makeNamed({ kind: 'agent', table: registry.agents }, name, options)
}

/** Makes an engine by its name, for example `openai-compatible`, or from a user's module; a wrong name or option, or a missing key, is a UserError. */
export async function makeEngine(name: string, options: Options = {}): Promise<Engine> {
  if (isModulePath(name)) return (await userModules()).makeImportedEngine(name, options)
  return makeNamed({ kind: 'engine', table: registry.engines }, name, options)
}

/** Refuses an engine that does not exist, or options it does not know; does not look for its key. */
export async function checkEngineOptions(name: string, options: Options): Promise<void> {
  const load = Object.hasOwn(registry.engines, name)
    ? registry.engines[name as keyof typeof registry.engines]
    : undefined
  if (load) parseOptions('engine', (await load()).default as Plugin<Engine>, options)
  else await makeEngine(name, options)
}

/** Makes a scheduler by its name, for example `slurm`, or from a user's module; a wrong name is a UserError. */
export async function makeScheduler(name: string): Promise<Scheduler> {
  if (isModulePath(name)) return (await userModules()).makeImportedScheduler(name)
  return makeNamed({ kind: 'scheduler', table: registry.schedulers }, name, {})
}

/** Makes a judge from a user's module. */
export async function makeJudge(path: string, options: Options = {}): Promise<Judge> {
  return (await userModules()).makeImportedJudge(path, options)
}

/**
 * The kinds of sandbox that meet a need, for messages that suggest an alternative; they are loaded only for such a
 * message.
 */
export const sandboxAlternatives: SandboxAlternatives = async (need) => {
  const providers = await Promise.all(Object.keys(registry.sandboxes).map((name) => makeProvider(name)))
  return providers.filter(({ can }) => meets(can, need)).map(({ name }) => name)
}
