import type { CommandFile } from '../app/flags/command.ts'

/** A command, a group of commands, or both. */
export type Entry =
  | { readonly summary: string; readonly load: () => Promise<CommandFile> }
  | { readonly summary: string; readonly group: Group; readonly load?: never }
  | { readonly summary: string; readonly group: Group; readonly load: () => Promise<CommandFile> }
export interface Group {
  readonly [name: string]: Entry
}
