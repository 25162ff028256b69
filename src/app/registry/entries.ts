import { UserError } from '../../core/errors.ts'
import { changeableColumns, changeEntry, type Entry, type EntryKind, removeEntry } from '../../registry/entries.ts'
import { type RegistryPlace, withRegistry } from './open.ts'

export { type EntryKind, entryKinds } from '../../registry/entries.ts'

/** Changes one entry of the registry. `set` holds strings such as `weights_location=org/name`. */
export async function editEntry(
  place: RegistryPlace,
  kind: EntryKind,
  name: string,
  set: readonly string[],
): Promise<Entry> {
  if (set.length === 0)
    throw new UserError(
      'expected --set COLUMN=VALUE, got none',
      `columns of a ${kind} that can be changed: ${changeableColumns(kind).join(', ')}`,
    )
  const changes: Record<string, string> = {}
  for (const given of set) {
    const at = given.indexOf('=')
    if (at < 1)
      throw new UserError(`--set ${JSON.stringify(given)}: expected COLUMN=VALUE`, 'for example description=...')
    changes[given.slice(0, at)] = given.slice(at + 1)
  }
  return withRegistry(place, (database) => changeEntry(database, kind, name, changes), { existing: true })
}

/** Removes one entry of the registry. */
export function dropEntry(place: RegistryPlace, kind: EntryKind, name: string, dryRun: boolean) {
  return withRegistry(place, (database) => removeEntry(database, kind, name, dryRun), { existing: true })
}
