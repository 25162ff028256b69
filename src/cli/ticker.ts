import { sometimes } from '../lib/sometimes.ts'
import { note } from './output.ts'

/** Says on stderr how far a long work is, at most every two seconds, and nothing about a short one. */
export function makeTicker(): (line: string) => void {
  return sometimes(note)
}
