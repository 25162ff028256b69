import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Plugin } from '../core/plugin.ts'
import { packageRoot } from '../lib/package-root.ts'
import { unknownPlugin } from '../plugins/make-plugin.ts'
import { pipelineStages } from '../plugins/make-stage.ts'
import { registry } from '../plugins/table.ts'
import { isModulePath } from '../plugins/user-modules/import-path.ts'
import { loadImported } from '../plugins/user-modules/load-imported.ts'
import { isPlugin } from '../plugins/user-modules/make-imported.ts'

/** Kinds of plug-ins that have names. */
export type PluginKind = 'agent' | 'engine' | 'sandbox' | 'stage'

export interface PluginSummary {
  readonly name: string
  readonly summary: string
}

type Table = Readonly<Record<string, () => Promise<{ readonly default: Plugin<unknown> }>>>

const tables: Readonly<Record<PluginKind, Table>> = {
  agent: registry.agents,
  engine: registry.engines,
  sandbox: registry.sandboxes,
  stage: { ...registry.stages, ...stagesOfPipelines() },
}

/** Every built-in plug-in of a kind. */
export async function listPlugins(kind: PluginKind): Promise<readonly PluginSummary[]> {
  const entries = Object.entries(tables[kind])
  return Promise.all(entries.map(async ([name, load]) => ({ name, summary: (await load()).default.summary })))
}

/** A built-in plug-in's summary, or null if there is none of that name. */
export async function pluginSummary(kind: PluginKind, name: string): Promise<string | null> {
  const table = tables[kind]
  const load = Object.hasOwn(table, name) ? table[name] : undefined
  return load ? (await load()).default.summary : null
}

/** Finds a plug-in by name or file path; a wrong name is a UserError that suggests the closest one. */
export async function findPlugin(kind: PluginKind, name: string): Promise<Plugin<unknown>> {
  const table = tables[kind]
  const load = Object.hasOwn(table, name) ? table[name] : undefined
  if (load) return (await load()).default
  if (isModulePath(name)) return loadPluginFile(name)
  throw unknownPlugin(kind, name, Object.keys(table))
}

function stagesOfPipelines(): Table {
  const load = (file: string) => async () => ({ default: await loadPluginFile(join(packageRoot, file)) })
  return Object.fromEntries(Object.entries(pipelineStages).map(([name, file]) => [name, load(file)]))
}

async function loadPluginFile(path: string): Promise<Plugin<unknown>> {
  const { value, where } = await loadImported(path)
  if (isPlugin(value)) return value
  throw new UserError(`${where}: expected a plug-in with options to show`, 'export default definePlugin({ ... })')
}
