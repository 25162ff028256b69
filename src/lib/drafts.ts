import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { rename } from './disk.ts'
import {
  defaultStateDir,
  identify,
  livenessOf,
  markName,
  ourselves,
  ownersDirOf,
  type ProcessIdentity,
  parseMarkName,
} from './process-identity.ts'
import { ProcessNotes } from './process-notes.ts'
import { removeTree } from './remove-tree.ts'

let suffix: string | undefined

/**
 * The suffix of every unfinished file or directory: it names the process that makes it, so that others know what a dead
 * process left behind.
 */
function draftSuffix(): string {
  suffix ??= `.${markName(ourselves())}.tmp`
  return suffix
}

/** A new hidden name next to a path, for something that is renamed to that path once it is complete. */
export function draftBeside(path: string): string {
  // A name may have at most 255 bytes.
  return begun(join(dirname(path), `.${basename(path).slice(0, 40)}.${random()}${draftSuffix()}`))
}

/** This process's single name for a draft of a path; a second draft of the same path gets the same name. */
export function draftOf(path: string): string {
  return begun(path + draftSuffix())
}

/**
 * A new hidden name for what is at a path while something else takes its place; after a crash between the two steps it
 * is put back.
 */
export function asideOf(path: string): string {
  return begun(join(dirname(path), `.${basename(path)}.${random()}.old${draftSuffix()}`))
}

/** Makes a new temporary directory, as `mkdtemp` does: its name begins with `prefix`. */
export async function makeScratchDir(prefix: string): Promise<string> {
  const dir = begun(`${prefix}${random()}${draftSuffix()}`)
  await mkdir(dir, { mode: 0o700 })
  return dir
}

/**
 * Builds a directory that several callers, even in one process, may find missing at once: each fills its own, and the
 * first complete one stays.
 */
export async function buildDir(dir: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const draft = draftBeside(dir)
  try {
    await mkdir(draft, { recursive: true, mode: 0o755 })
    await fill(draft)
    await renameDraft(draft, dir)
  } catch (error) {
    await removeDraft(draft)
    if (!existsSync(dir)) throw error
  }
}

/** Moves a finished draft to its place. */
export async function renameDraft(draft: string, path: string): Promise<void> {
  await rename(draft, path)
  endDraft(resolve(draft))
}

/** Removes a draft if it still exists, however deep it is. */
export async function removeDraft(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => removeTree(path))
  endDraft(resolve(path))
}

function begun(path: string): string {
  const at = resolve(path)
  // Anything inside a draft is removed with it.
  if (!dirname(at).includes(`${draftSuffix()}/`) && !dirname(at).endsWith(draftSuffix())) beginDraft(at)
  return path
}

/** Taken from random numbers that the system draws in batches; the first twelve digits are all random. */
function random(): string {
  return randomUUID().replace('-', '').slice(0, 12)
}

/** Who makes a draft, and what must be put back if it was abandoned; null for any other name. */
export function parseDraftName(
  name: string,
): { readonly maker: ProcessIdentity; readonly putBack: string | null } | null {
  const [, before = '', mark = ''] = /^(.*)\.([^.]+)\.tmp$/s.exec(name) ?? []
  const maker = parseMarkName(mark)
  return maker && { maker, putBack: /^\.(.+)\.[0-9a-f]{12}\.old$/s.exec(before)?.[1] ?? null }
}

/** Whether a name belongs to something whose maker died before it was finished. */
export function isDeadDraft(name: string, ownersDir?: string): boolean {
  if (!name.endsWith('.tmp')) return false
  const draft = parseDraftName(name)
  if (draft !== null) return livenessOf(draft.maker, ownersDir === undefined ? {} : { ownersDir }) === 'dead'
  // The name format of earlier versions.
  const [, pid = ''] = /-(\d+)\.tmp$/.exec(name) ?? []
  return name.endsWith(`.${hostname()}-${pid}.tmp`) && identify(Number(pid)) === null
}

/**
 * Where every process records the directories in which it makes drafts, for `ot-agent clean`. It does so before its
 * first draft in a directory, so that `kill -9` leaves none in an unrecorded directory.
 */
export function placesDirOf(stateDir: string): string {
  return join(stateDir, 'drafts')
}

/** The drafts that are being made. */
const open = new Set<string>()
let places: ProcessNotes | null | undefined

/** Records, before it is made, that this process makes something at this absolute path that must not outlive it. */
export function beginDraft(path: string): void {
  open.add(path)
  try {
    if (places === undefined) places = openPlaces()
    places?.add(dirname(path))
    // A job of a million trials makes drafts in as many directories, but only in a few at a time.
    if (places && places.size > 4096) places.keep([...open].map((draft) => dirname(draft)))
  } catch {
    // A full or read-only state directory must not prevent other writes.
    places ??= null
  }
}

/** Records that nothing is left at this path. */
export function endDraft(path: string): void {
  open.delete(path)
}

function openPlaces(): ProcessNotes | null {
  const stateDir = defaultStateDir()
  process.once('exit', closePlaces)
  return ProcessNotes.open(placesDirOf(stateDir), ownersDirOf(stateDir))
}

/** A process that was told to end at once may leave drafts; then its records stay too. */
function closePlaces(): void {
  if (![...open].some((path) => existsSync(path))) places?.remove()
}
