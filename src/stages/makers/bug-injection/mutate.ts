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
  /** Where the function around it starts, or -1: bugs that are combined lie in different functions. */
  readonly place: number
}

/** Everything that these mutators could do to a file, in the file's order. Whether the result still parses is not looked at. */
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

/** The text of a file after edits that do not overlap; null where they do. */
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

/** The file with the mutation in it, or null when that would not be a program. */
export function mutate({ path, text }: Source, edits: readonly Edit[]): string | null {
  const mutated = applyEdits(text, edits)
  return mutated !== null && parseSource(path, mutated) ? mutated : null
}
