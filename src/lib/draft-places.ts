import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defaultStateDir, ownersDirOf } from './process-identity.ts'
import { ProcessNotes } from './process-notes.ts'

/**
 * Where every process writes down the directories in which it makes drafts, for `ot-agent clean`. It does so before the first draft
 * in a directory, so that `kill -9` leaves none in a directory that is not named here.
 */
export function placesDirOf(stateDir: string): string {
  return join(stateDir, 'drafts')
}

/** The drafts that are being made. */
const open = new Set<string>()
let places: ProcessNotes | null | undefined

/** Says, before it is made, that this process makes something at this absolute path that must not outlive it. */
export function beginDraft(path: string): void {
  open.add(path)
  try {
    if (places === undefined) places = openPlaces()
    places?.add(dirname(path))
    // A job of a million trials makes drafts in as many directories, but only in a few at a time.
    if (places && places.size > 4096) places.keep([...open].map((draft) => dirname(draft)))
  } catch {
    // A full or forbidden state directory must not keep anything else from being written.
    places ??= null
  }
}

/** Says that there is nothing at this path any more. */
export function endDraft(path: string): void {
  open.delete(path)
}

function openPlaces(): ProcessNotes | null {
  const stateDir = defaultStateDir()
  process.once('exit', closePlaces)
  return ProcessNotes.open(placesDirOf(stateDir), ownersDirOf(stateDir))
}

/** A process that was told to end at once may leave drafts; then what it wrote down stays too. */
function closePlaces(): void {
  if (![...open].some((path) => existsSync(path))) places?.remove()
}
