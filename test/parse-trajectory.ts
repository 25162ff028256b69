import { checkedTrajectory } from '../src/formats/atif/parse.ts'
import type { Trajectory } from '../src/formats/atif/trajectory.ts'
import { parseJson } from '../src/lib/parse-json.ts'

/** Parses a trajectory and checks it against every rule of the format. */
export function parseTrajectory(text: string, path = 'trajectory.json'): Trajectory {
  return checkedTrajectory(parseJson(text), path)
}
