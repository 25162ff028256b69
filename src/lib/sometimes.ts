/** Passes on a line at most every two seconds, and none in the first two. */
export function sometimes(say: (line: string) => void): (line: string) => void {
  let last = performance.now()
  return (line) => {
    if (performance.now() - last < 2000) return
    last = performance.now()
    say(line)
  }
}
