import type { Draws } from 'ot-agent'

/** The correct text within one line of a program, and what a broken copy has instead. */
export type Bug = readonly [right: string, wrong: string]

/** A program with some of its bugs, or null if two of them interfere. */
export function breakProgram(good: string, bugs: readonly Bug[]): string | null {
  let broken = good
  for (const [right, wrong] of bugs) {
    if (!broken.includes(right)) return null
    broken = broken.replace(right, () => wrong)
  }
  return broken
}

/** Draws bugs on different lines. */
export function drawBugs(random: Draws, good: string, bugs: readonly Bug[], count: number): readonly Bug[] {
  const lineOf = ([right]: Bug) => good.slice(0, good.indexOf(right)).split('\n').length
  const drawn: Bug[] = []
  for (const bug of random.shuffle(bugs)) {
    const isFree = good.includes(bug[0]) && drawn.every((other) => lineOf(other) !== lineOf(bug))
    if (drawn.length < count && isFree) drawn.push(bug)
  }
  return drawn
}

/** Shell code that corrects the lines that differ. */
export function repairShell(path: string, broken: string, good: string): string {
  const [from, to] = [broken.split('\n'), good.split('\n')]
  if (from.length !== to.length) throw new Error(`${path}: a bug changes the number of lines`)
  return to
    .flatMap((line, at) => {
      if (line === from[at]) return []
      const number = at + 1
      return [
        `sed -n ${number}p ${path}`,
        `perl -pi -e '$_ = <STDIN> if $. == ${number}' ${path} <<'END_OF_LINE'\n${line}\nEND_OF_LINE`,
      ]
    })
    .join('\n')
}
