import type { Agent } from '../../core/agent.ts'
import { messageOf, UserError } from '../../core/errors.ts'
import type { Plugin, PluginContext } from '../../core/plugin.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { oneLine } from '../../lib/visible.ts'
import { makePlugin } from '../make.ts'
import { type Imported, loadImported } from './load-imported.ts'
import { isClass, isObject } from './pick-export.ts'
import { recordCalls } from './record-calls.ts'

type Options = Readonly<Record<string, unknown>>

/** Makes the agent an import path leads to, from a plug-in or a class with these options, or the object itself; its calls are recorded. */
export async function makeImportedAgent(importPath: string, options: Options): Promise<Agent> {
  const imported = await loadImported(importPath)
  const made = makeOf('agent', imported, options)
  if (isAgent(made)) return recordCalls(made)
  throw unlike(imported.where, 'an agent with name, version and solve(at)', agentParts, made)
}

/** Makes the kind of sandbox an import path leads to. */
export async function makeImportedProvider(importPath: string, options: Options): Promise<SandboxProvider> {
  const imported = await loadImported(importPath)
  const made = makeOf('sandbox', imported, options)
  if (isProvider(made)) return made
  throw unlike(imported.where, 'a sandbox provider', providerParts, made)
}

/** Plug-in, class or object: the first two are made again each time, and only they take options. */
export function makeOf(
  kind: string,
  { where, value }: Imported,
  options: Options,
  more: Partial<PluginContext> = {},
): unknown {
  if (isClass(value)) return construct(where, value, options)
  // Where the model is served is said among an agent's options, but meant for the model client.
  const { api_base: _, model_info: __, ...own } = options
  if (isPlugin(value)) return makePlugin(kind, value, own, more)
  if (typeof value === 'function')
    throw new UserError(
      `${where}: expected a plug-in, a class or an object, got a function`,
      `return it from a plug-in instead: export default definePlugin({ name, summary, options, make })`,
    )
  const [first] = Object.keys(own)
  if (first !== undefined)
    throw new UserError(
      `${where}: expected no options, because it exports an object that is already made, got ${first}`,
      'export the class, or a plug-in whose make takes options',
    )
  return value
}

function construct(where: string, Made: new (options: Options) => unknown, options: Options): unknown {
  try {
    return new Made(options)
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `${where}: expected new ${Made.name}(options) to work, got ${oneLine(messageOf(error))}`,
      `the options were ${Object.keys(options).join(', ') || 'none'}`,
    )
  }
}

/** Whether a file exports a plug-in. */
export function isPlugin(value: unknown): value is Plugin<unknown> {
  if (!isObject(value) || typeof value.make !== 'function' || !isObject(value.options)) return false
  return typeof value.name === 'string' && typeof value.options.safeParse === 'function'
}

/** The parts that something must have, and what each has to be. */
export type Parts = Readonly<Record<string, 'text' | 'function' | 'function or nothing' | 'object'>>

const agentParts = {
  name: 'text',
  version: 'text',
  solve: 'function',
  check: 'function or nothing',
  prepare: 'function or nothing',
} satisfies Parts

const providerParts = {
  name: 'text',
  can: 'object',
  preflight: 'function',
  lease: 'function',
  reap: 'function',
} satisfies Parts

function isAgent(value: unknown): value is Agent {
  return problemsOf(value, agentParts).length === 0
}

function isProvider(value: unknown): value is SandboxProvider {
  return problemsOf(value, providerParts).length === 0
}

/** What of these parts is missing or of another kind. */
export function problemsOf(value: unknown, parts: Parts): string[] {
  if (!isObject(value)) return [value === null ? 'null' : `a ${typeof value}`]
  return Object.entries(parts).flatMap(([name, kind]) => {
    const part = value[name]
    if (fits(part, kind)) return []
    return part === undefined ? `no ${name}` : `${name} that is ${typeof part}, not ${kind}`
  })
}

function fits(part: unknown, kind: Parts[string]): boolean {
  if (kind === 'text') return typeof part === 'string' && part.trim() !== ''
  if (kind === 'object') return isObject(part)
  return typeof part === 'function' || (kind === 'function or nothing' && part === undefined)
}

function unlike(where: string, expected: string, parts: Parts, made: unknown): UserError {
  return new UserError(
    `${where}: expected ${expected}, got ${problemsOf(made, parts).join(', ')}`,
    'ot-agent agents init NAME writes one that works, to compare with',
  )
}
