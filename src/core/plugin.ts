import type { ZodType, z } from 'zod'

/** What a plug-in file exports by default: a strict schema of its options, and a way to make the live thing. */
export interface Plugin<T, Schema extends ZodType = ZodType> {
  readonly name: string
  readonly summary: string
  readonly options: Schema
  make(options: z.output<Schema>, context: PluginContext): T
}

/** What every plug-in may need from its caller. */
export interface PluginContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where caches and leases live on this machine. */
  readonly stateDir: string
  /**
   * Resolves a relative path in the options, for example against the recipe's folder; absent: the working directory.
   */
  readonly resolvePath?: ((path: string) => string) | undefined
}

/** A path from a plug-in's options, resolved against the place it was written in. */
export function pathFrom({ resolvePath }: PluginContext, path: string): string {
  return resolvePath?.(path) ?? path
}

/** The same for a plug-in: `./my-agent.ts` is a file, any other name stays as it is. */
export function moduleFrom(context: PluginContext, name: string): string {
  return /^\.{1,2}\//.test(name) ? pathFrom(context, name) : name
}

/** The same for a dataset's name, where `file:PATH` is one on this machine. */
export function repoFrom(context: PluginContext, repo: string): string {
  return repo.startsWith('file:') && !repo.startsWith('file:///') ? `file:${pathFrom(context, repo.slice(5))}` : repo
}

/** Declares a plug-in; exists only to infer the type of its options. */
export function definePlugin<T, Schema extends ZodType>(plugin: Plugin<T, Schema>): Plugin<T, Schema> {
  return plugin
}
