import type { RawRow } from '../../../core/row.ts'
import type { Dropped } from '../../../core/stage.ts'
import type { FileRow } from '../../../formats/records/read-records.ts'
import { digestJson } from '../../../lib/digest-json.ts'

/**
 * Turns a record into a row named by a field or by its content; `seen` counts the names so far, and a repeated name is
 * dropped.
 */
export function toRow(
  read: FileRow,
  source: string,
  idField: string | null,
  seen: Map<string, number>,
): RawRow | Dropped {
  if ('problem' in read) return { drop: 'unreadable-row', detail: read.problem, id: read.where }
  const { fields, where } = read
  const given = idField === null ? digestJson(fields).slice(0, 16) : fields[idField]
  const isName = typeof given === 'string' || typeof given === 'number' || typeof given === 'bigint'
  const name = isName ? String(given) : ''
  if (name.trim() === '')
    return {
      drop: 'no-id',
      detail: `expected the field ${idField} to name the row, found ${given === undefined || given === null || isName ? 'nothing' : 'no text or number'}`,
      id: where,
    }
  const before = seen.get(name) ?? 0
  seen.set(name, before + 1)
  if (before > 0) return { drop: 'duplicate-row', detail: `a row with the same id came before`, id: name }
  return { id: name, source, fields }
}
