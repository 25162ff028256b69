import { callMutators } from './mutators/calls.ts'
import { constantMutators, operatorMutators } from './mutators/expressions.ts'
import type { Edit, Mutator } from './mutators/mutator.ts'
import { nameMutators } from './mutators/names.ts'
import { resourceMutators } from './mutators/resources.ts'
import { flowMutators, removalMutators } from './mutators/statements.ts'
import { functionAround, parseSource, type Source } from './source.ts'

/** Every procedural way to break code, one entry each. */
export const mutators: readonly Mutator[] = [
  ...operatorMutators,
  ...constantMutators,
  ...removalMutators,
  ...flowMutators,
  ...nameMutators,
  ...callMutators,
  ...resourceMutators,
]

/** One edit that one mutator would make. */
export interface Mutation {
  readonly mutator: string
  readonly path: string
  readonly edit: Edit
  /** Where the surrounding function starts, or -1: combined bugs must be in different functions. */
  readonly place: number
}

/**
 * Every edit that these mutators could make to a file, in file order. Does not check whether the result still parses.
 */
export function findMutations(source: Source, chosen: readonly Mutator[] = mutators): Mutation[] {
  const found: Mutation[] = []
  source.tree.iterate({
    enter: ({ node }) => {
      for (const { name, find } of chosen)
        for (const edit of find(node, source)) {
          if (source.text.slice(edit.from, edit.to) === edit.insert) continue
          found.push({ mutator: name, path: source.path, edit, place: functionAround(node)?.from ?? -1 })
        }
    },
  })
  return found
}

/** A file's text after non-overlapping edits; null if they overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string | null {
  const ordered = [...edits].sort((a, b) => a.from - b.from || a.to - b.to)
  let result = ''
  let at = 0
  for (const { from, to, insert } of ordered) {
    if (from < at) return null
    result += text.slice(at, from) + insert
    at = to
  }
  return result + text.slice(at)
}

/** The mutated file, or null when it would not be a program. */
export function mutate({ path, text }: Source, edits: readonly Edit[]): string | null {
  const mutated = applyEdits(text, edits)
  return mutated !== null && parseSource(path, mutated) ? mutated : null
}
