import { lstat, readdir, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { asideOf, draftBeside, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { isMissing, readTextIfExists } from '../../lib/files.ts'
import { AlreadyThere, makeDirWhole } from '../../lib/new-dir.ts'
import { readJson } from '../../lib/parse-json.ts'

/** What currently exists where a dataset is to go. */
type Place = 'free' | 'dataset' | 'other'

/** The file that marks a directory as one of our datasets, and its `schema`. */
export const manifestFile = 'manifest.json'
export const manifestSchema = 'traces/1'

/** Refuses an existing target before anything is written; with `overwrite`, only one that is not an earlier export. */
async function checkTarget(path: string, overwrite: boolean): Promise<void> {
  const target = resolve(path)
  const place = await placeOf(target)
  if (place === 'free' || (place === 'dataset' && overwrite)) return
  if (overwrite)
    throw new UserError(
      `${path || target}: expected an earlier export to overwrite, found other files`,
      `remove it, or choose another --out; an export has a ${manifestFile} with ${manifestSchema}`,
    )
  throw new UserError(
    `${path || target}: expected a new directory, but it already exists`,
    'choose another --out, or add --overwrite to replace an earlier export',
  )
}

/**
 * Makes a directory that appears whole or not at all; with `overwrite` it replaces an earlier export, but nothing else.
 */
export async function publishDir<T>(
  path: string,
  overwrite: boolean,
  fill: (temporary: string) => Promise<T>,
): Promise<T> {
  await checkTarget(path, overwrite)
  const target = resolve(path)
  const fresh = (await placeOf(target)) === 'free' ? target : draftBeside(target)
  const filled: T[] = []
  try {
    await makeDirWhole(fresh, async (temporary) => {
      filled.push(await fill(temporary))
    })
    if (fresh !== target) await swap(fresh, target, () => checkTarget(path, overwrite))
  } catch (error) {
    throw error instanceof AlreadyThere
      ? new UserError(`${path} appeared in the meantime`, 'choose another --out')
      : error
  }
  const [result] = filled
  if (result === undefined) throw new Error('a directory appeared that was never filled')
  return result
}

/** Checks the target again before replacing it: filling may have taken hours. */
async function swap(fresh: string, target: string, check: () => Promise<void>): Promise<void> {
  await check().catch(async (error: unknown) => {
    await removeDraft(fresh)
    throw error
  })
  const old = asideOf(target)
  await rename(target, old)
  await renameDraft(fresh, target)
  await removeDraft(old)
}

async function placeOf(path: string): Promise<Place> {
  try {
    if (!(await lstat(path)).isDirectory()) return 'other'
  } catch (error) {
    if (isMissing(error)) return 'free'
    throw error
  }
  const names = await readdir(path)
  if (names.length === 0) return 'dataset'
  const manifest = await readTextIfExists(join(path, manifestFile))
  return manifest !== null && schemaIn(manifest) === manifestSchema ? 'dataset' : 'other'
}

function schemaIn(text: string): unknown {
  try {
    return Object(readJson(text)).schema
  } catch {
    return undefined
  }
}
