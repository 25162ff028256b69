/** A Debian package with a command-line program. */
export interface ListedPackage {
  readonly name: string
  readonly summary: string
}

/**
 * The programs in a Debian package index, as `apt-cache dumpavail` prints it and mirrors publish it; none if the text
 * is something else.
 */
export function parsePackageIndex(text: string): ListedPackage[] {
  const found = new Map<string, string>()
  for (const part of text.split('\n\n')) {
    const name = /^Package: ([a-z0-9][a-z0-9+.-]*)$/m.exec(part)?.[1]
    // Most packages are parts of others, or graphical: Debian's own tags say which are neither.
    const isProgram = part.includes('role::program') && part.includes('interface::commandline')
    if (name !== undefined && isProgram) found.set(name, /^Description(?:-en)?: (.*)$/m.exec(part)?.[1] ?? '')
  }
  return [...found].map(([name, summary]) => ({ name, summary }))
}

/** E5 by search: the packages whose name or summary has every word of a keyword, best first. */
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

/**
 * A name equal to the word scores more than one that contains it, and that more than a summary. 0 if a word is missing.
 */
function scoreOf(words: readonly string[], { name, summary }: ListedPackage): number {
  const parts = new Set(name.split(/[-.]/))
  const said = new Set(summary.toLowerCase().match(/[a-z0-9+]+/g))
  const scores = words.map((word) =>
    name === word ? 100 : (parts.has(word) ? 50 : name.includes(word) ? 20 : 0) + (said.has(word) ? 30 : 0),
  )
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0)
}
