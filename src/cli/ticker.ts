import { sometimes } from '../lib/sometimes.ts'
import { note } from './output.ts'

/** Reports the progress of long work on stderr, at most every two seconds; short work prints nothing. */
export function makeTicker(): (line: string) => void {
  return sometimes(note)
}
