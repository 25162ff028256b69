/** A package of Debian's with a program that is called at a shell. */
export interface ListedPackage {
  readonly name: string
  readonly summary: string
}

/** The programs in an index of Debian's packages, as `apt-cache dumpavail` prints it and mirrors have it; none where it is something else. */
export function parsePackageIndex(text: string): ListedPackage[] {
  const found = new Map<string, string>()
  for (const part of text.split('\n\n')) {
    const name = /^Package: ([a-z0-9][a-z0-9+.-]*)$/m.exec(part)?.[1]
    // Most packages are parts of others, or open a window: Debian's own tags say which are not.
    const isProgram = part.includes('role::program') && part.includes('interface::commandline')
    if (name !== undefined && isProgram) found.set(name, /^Description(?:-en)?: (.*)$/m.exec(part)?.[1] ?? '')
  }
  return [...found].map(([name, summary]) => ({ name, summary }))
}

/** E5 by search: the packages whose name or summary has every word of a keyword, the best first. */
export function searchPackages(keyword: string, listed: readonly ListedPackage[], atMost = 3): string[] {
  const words = keyword.toLowerCase().match(/[a-z0-9+]+/g) ?? []
  if (words.length === 0) return []
  return listed
    .map((each) => ({ name: each.name, score: scoreOf(words, each) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.name.length - b.name.length || (a.name < b.name ? -1 : 1))
    .slice(0, atMost)
    .map(({ name }) => name)
}

/** A name that is the word counts more than one that has it, and that more than a summary. 0 where a word is missing. */
function scoreOf(words: readonly string[], { name, summary }: ListedPackage): number {
  const parts = new Set(name.split(/[-.]/))
  const said = new Set(summary.toLowerCase().match(/[a-z0-9+]+/g))
  const scores = words.map((word) =>
    name === word ? 100 : (parts.has(word) ? 50 : name.includes(word) ? 20 : 0) + (said.has(word) ? 30 : 0),
  )
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0)
}
