import type { Random } from 'ot-agent'
import { saysDepth } from './agreement.ts'
import { linesWith, type Search } from './contents.ts'
import { type FindCall, findsFolders, type Test } from './find.ts'
import { globRegExp } from './globs.ts'
import { datesFor, isTime } from './times.ts'
import { isNamed, isPath, nearMisses, otherModes, type Wish, wishesFor } from './wishes.ts'
import { makeWorkspace, type Workspace } from './workspace.ts'

/** What is done with the files found, as far as the folder has to be prepared for it. */
export interface Plan {
  /** Text that is searched for or replaced in the files. */
  readonly search: Search | null
  readonly changesModes: boolean
  readonly removes: boolean
}

/** A folder for a `find` call: things it finds, near misses, and others. */
export function planFind(call: FindCall, words: string, plan: Plan, random: Random): Workspace | null {
  const workspace = makeWorkspace(random, isHarmlessFolder(call))
  const depth = saysDepth(words)
  const all = call.alternatives.flat()
  const isFolders = findsFolders(call)
  // "Two levels down" may mean in a folder two levels down.
  const tooDeep = !isFolders && /\b(?:levels?|deep)\b/i.test(words) ? 2 : 1
  const time = all.find(isTime)
  const dates = time && datesFor(time)
  if (dates?.reference)
    workspace.addAt('', { kind: 'file', name: dates.reference.path, size: null, date: dates.reference.date })
  // Most of the searched files hold the text, and so do some that are not searched.
  const filled = (wish: Wish, nth: number) =>
    plan.search && wish.kind === 'file' && wish.size === null
      ? { ...wish, text: linesWith(plan.search, nth === 0 ? 0 : 1 + (nth % 2), random) }
      : wish
  for (const root of call.roots) {
    const base = root.replace(/^(?:\.\/)+|^\.$|\/+$/g, '')
    if (base !== '') workspace.addDir(base)
    const deepest = call.maxDepth ?? (depth === 'deep' ? 4 : 1)
    const [low, high] = [Math.max(1, call.minDepth ?? 1), Math.max(1, Math.min(4, deepest))]
    if (low > 4 || (low > high && call.maxDepth !== null)) return null
    for (const tests of call.alternatives) {
      const hits = wishesFor(tests, words, random)
      if (hits === null) return null
      for (const [nth, wish] of hits.entries())
        workspace.add(base, low + random.below(Math.max(1, high - low + 1)), filled(wish, nth))
      if (!addBelowPaths({ tests, words, base, filled }, workspace, random)) return null
      for (const [nth, wish] of nearMisses(tests, words, random).entries())
        workspace.add(base, 1 + random.below(depth === null ? (isFolders ? 1 : 2) : 3), filled(wish, nth + 1))
      // Too deep, or not deep enough: only if the request mentions depth.
      if (call.maxDepth !== null && depth === 'flat')
        for (const wish of hits.slice(0, 2))
          workspace.add(base, call.maxDepth + tooDeep + random.below(2), filled(wish, 1))
      if (call.minDepth !== null && call.minDepth > 1)
        for (const wish of hits.slice(0, 2)) workspace.add(base, 1 + random.below(call.minDepth - 1), filled(wish, 1))
    }
  }
  // Most requests leave open whether to remove a folder that only becomes empty along the way.
  if (plan.removes && isFolders) workspace.keepParents()
  const isAboutModes = all.some(({ name }) => name === 'perm') || plan.changesModes
  return workspace.finish({
    fileMode: isAboutModes ? random.pick(otherModes(all.find(({ name }) => name === 'perm')?.value ?? '')) : null,
    folderMode: plan.changesModes && isFolders ? '711' : '755',
    date: dates?.miss ?? null,
    // If the request does not say how deep to look, there is nothing deep to find.
    depth: depth === null ? 1 : 3,
  })
}

interface Below {
  readonly tests: readonly Test[]
  readonly words: string
  readonly base: string
  readonly filled: (wish: Wish, nth: number) => Wish
}

/** Adds things to the folders that a path test names; false if the test has another form. */
function addBelowPaths(
  { tests, words, base, filled }: Below,
  workspace: ReturnType<typeof makeWorkspace>,
  random: Random,
): boolean {
  for (const { value, negated } of tests.filter(isPath)) {
    const folder = folderOfPath(value)
    if (folder === null || (!negated && !/^\.?\//.test(value) && !value.startsWith('*'))) return false
    for (const [nth, wish] of (wishesFor(tests, words, random) ?? []).entries())
      workspace.addAt(`${base === '' ? '' : `${base}/`}${folder}`, filled(wish, nth))
  }
  return true
}

/** Whether a folder name matches no pattern of the call, ignoring case. */
function isHarmlessFolder(call: FindCall): (name: string) => boolean {
  const patterns = call.alternatives
    .flat()
    .filter(isNamed)
    .map(({ value }) => globRegExp(value, 'i'))
  return (name) => patterns.every((pattern) => pattern !== null && !pattern.test(name))
}

/** The folder that a path pattern names, if it has this form: `*` + `/x/` + `*`, `./x/*`. */
function folderOfPath(pattern: string): string | null {
  return /^(?:\*\/|\.\/)((?:[\w.-]+\/)*[\w.-]+)\/\*$/.exec(pattern)?.[1] ?? null
}
