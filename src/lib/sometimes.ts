/** Passes on what is said at most every two seconds, and nothing in the first two. */
export function sometimes(say: (line: string) => void): (line: string) => void {
  let last = performance.now()
  return (line) => {
    if (performance.now() - last < 2000) return
    last = performance.now()
    say(line)
  }
}
