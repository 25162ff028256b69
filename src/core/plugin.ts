import type { ZodType, z } from 'zod'

/** What a plug-in file exports by default: a strict schema of its options, and a way to make the live thing. */
export interface Plugin<T, Schema extends ZodType = ZodType> {
  readonly name: string
  readonly summary: string
  readonly options: Schema
  make(options: z.output<Schema>, context: PluginContext): T
}

/** What every plug-in may need from whoever makes it. */
export interface PluginContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where caches and leases live on this machine. */
  readonly stateDir: string
}

/** Declares a plug-in; only there to infer the type of its options. */
export function definePlugin<T, Schema extends ZodType>(plugin: Plugin<T, Schema>): Plugin<T, Schema> {
  return plugin
}
