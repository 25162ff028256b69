import type { FileHandle } from 'node:fs/promises'
import { JsonItems, type Place } from '../../lib/json-items.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { NotHere } from './library-job.ts'
import { readPlace } from './trial-dir-files.ts'

/** Maximum depth of nested subagents. */
const deepest = 8
/** How many nested trajectories are searched. */
const mostInside = 10_000

/**
 * How a step refers to a subagent: by its file next to the agent's, or by `#` and its encoded id if it is inside that
 * file.
 */
export function nameOfSubagent({ trajectory_path: path, trajectory_id: id }: SubagentRef): string[] {
  if (path) return [path.startsWith('#') ? `./${path}` : path]
  return id ? [`#${encoded(id)}`] : []
}

interface SubagentRef {
  readonly trajectory_path?: string | null | undefined
  readonly trajectory_id?: string | null | undefined
}

/** Encodes an id, handling unpaired surrogates, which cannot be encoded. */
function encoded(id: string): string {
  return encodeURIComponent(id.replace(/\p{Surrogate}/gu, '\u{fffd}'))
}

/**
 * Where a subagent's trajectory is in its agent's file. `names` leads to it from the outermost one; an empty list means
 * the whole file.
 */
export async function placeOfSubagent(file: FileHandle, names: readonly string[]): Promise<Place | undefined> {
  if (names.length > deepest) throw new NotHere('these subagents are nested too deeply')
  let place: Place | undefined
  for (const name of names) {
    // Agents that keep all subagents in one list store them in the outermost trajectory.
    place = (await findInside(file, name, place)) ?? (place && (await findInside(file, name)))
    if (place === undefined) throw new NotHere(`the trajectory has no subagent ${JSON.stringify(name)}`)
  }
  return place
}

async function findInside(file: FileHandle, name: string, within?: Place): Promise<Place | undefined> {
  const inner = new JsonItems(file, 'subagent_trajectories', within)
  await inner.ensure(mostInside)
  for (const place of inner.items) {
    const keys = new JsonItems(file, 'steps', place)
    await keys.ensure(Number.POSITIVE_INFINITY)
    const id = keys.others.get('trajectory_id')
    const value = id && parseJson((await readPlace(file, id.at, id.end)).toString('utf8'))
    if (typeof value === 'string' && encoded(value) === name) return place
  }
  return undefined
}
