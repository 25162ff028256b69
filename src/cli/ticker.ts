import { note } from './output.ts'

/** Says on stderr how far a long work is, at most every two seconds, and nothing about a short one. */
export function makeTicker(): (line: string) => void {
  let last = performance.now()
  return (line) => {
    if (performance.now() - last < 2000) return
    last = performance.now()
    note(line)
  }
}

/** Bytes as a person reads them. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`
}
