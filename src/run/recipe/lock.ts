import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { RecipeLock } from '../../core/recipe.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson, readJson } from '../../lib/parse-json.ts'

/**
 * Writes lock.json before anything runs. An earlier lock of another form of the recipe is kept next to it under its
 * digest; a lock that was edited is refused, because it would no longer say how the rows were made.
 */
export async function saveLock(dir: string, lock: RecipeLock): Promise<void> {
  const path = join(dir, 'lock.json')
  const now = render(lock)
  const before = await readTextIfExists(path)
  if (before === now) return
  if (before !== null) refuseOther(dir, lock, before)
  if (before !== null) await writeAtomic(join(dir, 'locks', `${digestIn(before, path)}.json`), before)
  await writeAtomic(path, now)
}

/** A rehearsal and a run never share a directory: neither's files may pass for the other's. */
function refuseOther(dir: string, { rehearsal }: RecipeLock, before: string): void {
  const was = isRehearsal(before)
  if (was === (rehearsal ?? false)) return
  throw new UserError(
    `${dir}: expected ${was ? 'a run' : 'a rehearsal'} of a recipe, found ${was ? 'a rehearsal' : 'a run'}`,
    'choose another directory with -o',
  )
}

/** Whether a lock belongs to a rehearsal. */
export function isRehearsal(lock: string): boolean {
  return Object(parseJson(lock)).rehearsal === true
}

/** The digest stated in a lock, if it matches the content. */
function digestIn(text: string, path: string): string {
  const { digest, ...lock } = parse(text, path)
  if (typeof digest === 'string' && digestJson(lock) === digest) return digest.slice(0, 16)
  throw changed(path)
}

function parse(text: string, path: string): Record<string, unknown> {
  try {
    return readJson(text) as Record<string, unknown>
  } catch {
    throw changed(path)
  }
}

function render(lock: RecipeLock): string {
  return `${JSON.stringify({ ...lock, digest: digestJson(lock) }, null, 2)}\n`
}

function changed(path: string): UserError {
  return new UserError(
    `${path} has changed since it was written`,
    'restore it, or run the recipe in a new directory (-o)',
  )
}
