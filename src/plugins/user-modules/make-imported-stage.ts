import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { PluginContext } from '../../core/plugin.ts'
import type { RowKind } from '../../core/row.ts'
import type { AnyStage } from '../../core/stage.ts'
import { isMissing } from '../../lib/files.ts'
import { oneLine } from '../../lib/visible.ts'
import { loadImported } from './load-imported.ts'
import { makeOf, type Parts, problemsOf } from './make-imported.ts'

/** What each kind of stage needs beyond what all kinds have. */
const partsOf: Readonly<Record<AnyStage['kind'], Parts>> = {
  source: { gives: 'text', rows: 'function' },
  map: { takes: 'text', gives: 'text', run: 'function' },
  filter: { takes: 'text', keep: 'function' },
  'sql-filter': { takes: 'text', reason: 'text' },
  'set-filter': { takes: 'text', findDrops: 'function' },
  'ordered-filter': { takes: 'text', looksAt: 'text', begin: 'function' },
  mixer: { takes: 'text', choose: 'function' },
  exporter: { takes: 'text', write: 'function' },
}

const rowKinds: readonly string[] = ['raw', 'draft', 'task', 'trial', 'trace'] satisfies RowKind[]

/** Makes the recipe stage that an import path leads to. Its rows depend on its code, too. */
export async function makeImportedStage(
  importPath: string,
  options: Readonly<Record<string, unknown>>,
  more: Partial<PluginContext>,
): Promise<AnyStage> {
  const imported = await loadImported(importPath)
  const made = makeOf('stage', imported, options, more)
  const kind = typeof made === 'object' && made !== null && 'kind' in made ? made.kind : undefined
  if (!isKind(kind))
    throw new UserError(
      `${imported.where}: expected a stage with a kind, got ${kind === undefined ? 'none' : JSON.stringify(kind)}`,
      `kind is one of ${Object.keys(partsOf).join(', ')}`,
    )
  const problems = problemsOf(made, partsOf[kind])
  if (problems.length > 0)
    throw new UserError(
      `${imported.where}: expected a ${kind} with ${Object.keys(partsOf[kind]).join(' and ')}, got ${problems.join(', ')}`,
      'docs/guides/your-own-stage.md shows one of each kind',
    )
  for (const part of ['takes', 'gives'] as const) refuseUnknownRows(made, part, imported.where)
  return blamed(made as AnyStage, imported.where, imported.digest)
}

function refuseUnknownRows(made: unknown, part: 'takes' | 'gives', where: string): void {
  const rows: unknown = typeof made === 'object' && made !== null ? Reflect.get(made, part) : undefined
  if (typeof rows !== 'string' || rowKinds.includes(rows)) return
  throw new UserError(
    `${where}: ${part}: expected ${rowKinds.slice(0, -1).join(', ')} or ${rowKinds.at(-1)}, got ${JSON.stringify(rows)}`,
    'docs/guides/your-own-stage.md explains the kinds of rows',
  )
}

function isKind(kind: unknown): kind is AnyStage['kind'] {
  return typeof kind === 'string' && Object.hasOwn(partsOf, kind)
}

/** The same stage with the digest of its code; its errors name its file. */
function blamed(stage: AnyStage, where: string, code: string): AnyStage {
  return new Proxy(stage, {
    has: (target, key) => key === 'code' || Reflect.has(target, key),
    get(target, key) {
      if (key === 'code') return code
      const part: unknown = Reflect.get(target, key, target)
      if (typeof part !== 'function') return part
      return (...given: unknown[]) => guarded(where, () => part.apply(target, given))
    },
  })
}

function guarded(where: string, call: () => unknown): unknown {
  try {
    const made = call()
    if (made instanceof Promise) return made.catch((error) => Promise.reject(explained(where, error)))
    return isStream(made) ? guardedRows(where, made) : made
  } catch (error) {
    throw explained(where, error)
  }
}

async function* guardedRows(where: string, rows: AsyncIterable<unknown>): AsyncIterable<unknown> {
  try {
    yield* rows
  } catch (error) {
    throw explained(where, error)
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** A bug in the file is for the user to fix; errors that come from elsewhere stay as they are. */
function explained(where: string, error: unknown): unknown {
  if (error instanceof UserError || error instanceof BoundaryError) return error
  const path = missingPath(error)
  if (path !== null)
    return new UserError(
      `${where}: expected a file at ${path}, found nothing there`,
      'check the path in its options or code',
    )
  const file = where.replace(/:[A-Za-z_$][\w$]*$/, '')
  const frames = (error instanceof Error ? (error.stack ?? '') : '').split('\n').slice(1)
  const place = frames.map((line) => /\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/.exec(line)?.[1]).find((at) => at)
  if (!place?.includes(file)) return error
  return new UserError(`${where}: ${oneLine(messageOf(error))}`, `thrown at ${place}`)
}

/**
 * The file that could not be opened because it does not exist. A program that is not installed is also missing, but is
 * not a file of the user's.
 */
function missingPath(error: unknown): string | null {
  if (!isMissing(error) || !(error instanceof Error) || !('path' in error) || !('syscall' in error)) return null
  return /^(?:open|l?stat|scandir|access)$/.test(String(error.syscall)) ? String(error.path) : null
}
