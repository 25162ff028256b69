import type { z } from 'zod'
import { UserError } from '../core/errors.ts'
import type { Plugin, PluginContext } from '../core/plugin.ts'
import { describeOptions } from '../lib/describe-options.ts'
import { nearest } from '../lib/nearest.ts'
import { defaultStateDir } from '../lib/process-identity.ts'

type Options = Readonly<Record<string, unknown>>

/** Where caches and leases live: `$XDG_CACHE_HOME/ot-agent`. */
export function pluginContext(): PluginContext {
  return { env: process.env, stateDir: defaultStateDir(process.env) }
}

type Table<T> = Readonly<Record<string, () => Promise<{ readonly default: Plugin<T> }>>>

interface PluginKind<T> {
  /** For messages. */
  readonly kind: string
  readonly table: Table<T>
}

/** Makes what the plug-in with this name in a table makes. */
export async function makeNamed<T>(
  { kind, table }: PluginKind<T>,
  name: string,
  options: Options,
  more: Partial<PluginContext> = {},
): Promise<T> {
  const load = Object.hasOwn(table, name) ? table[name] : undefined
  if (!load) throw unknownPlugin(kind, name, Object.keys(table))
  return makePlugin(kind, (await load()).default, options, more)
}

/** A longer list would hide the name the user meant. */
const mostListed = 20

/** The error for a name that no plug-in has; it suggests the one that may have been meant. */
export function unknownPlugin(kind: string, name: string, known: readonly string[]): UserError {
  if (/\.[cm]?[jt]s$/.test(name))
    return new UserError(
      `unknown ${kind} ${JSON.stringify(name)}`,
      `the path of a file starts with a dot or a slash: ./${name}`,
    )
  const near = nearest(name, known)
  const listed = `known: ${[...known].sort().join(', ')}`
  return new UserError(
    `unknown ${kind} ${JSON.stringify(name)}`,
    near === null ? listed : `did you mean ${near}?${known.length > mostListed ? '' : ` ${listed}`}`,
  )
}

/** Makes what a plug-in makes; an unknown option or a wrong value is a UserError. */
export function makePlugin<T>(kind: string, plugin: Plugin<T>, options: Options, more: Partial<PluginContext> = {}): T {
  return plugin.make(parseOptions(kind, plugin, options), { ...pluginContext(), ...more })
}

/** The options of a plug-in; an unknown one or a wrong value is a UserError. */
export function parseOptions<T, Schema extends z.ZodType>(
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

type Issue = z.core.$ZodIssue

/**
 * The most telling one of several faults: a misspelt name makes one name unknown and another one missing, and the
 * unknown one says more.
 */
export function tellingIssue(issues: readonly Issue[]): Issue | undefined {
  const all = issues.flatMap(ofClosestForm)
  return all.find(({ code }) => code === 'unrecognized_keys') ?? all[0]
}

/** For a value that has none of several forms, what is wrong with the closest form. */
function ofClosestForm(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const close = issue.errors.find((errors) =>
    errors.every(({ code, path }) => path.length > 0 || code !== 'invalid_type'),
  )
  if (close) return close.map((error) => ({ ...error, path: [...issue.path, ...error.path] })).flatMap(ofClosestForm)
  const forms = new Set(issue.errors.flat().flatMap((error) => (error.code === 'invalid_type' ? [error.expected] : [])))
  return [{ ...issue, message: `${issue.message}: expected ${[...forms].join(' or ')}` }]
}
