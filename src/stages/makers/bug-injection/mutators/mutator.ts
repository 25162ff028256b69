import type { SyntaxNode } from '@lezer/common'
import type { Source } from '../source.ts'

/** A stretch of a file that is replaced. */
export interface Edit {
  readonly from: number
  readonly to: number
  readonly insert: string
}

/** One way to break code: which edits it knows for a node of a syntax tree. */
export interface Mutator {
  /** Kebab-case: yields are counted by it. */
  readonly name: string
  find(node: SyntaxNode, source: Source): readonly Edit[]
}

/** The text of a node. */
export function textOf({ text }: Source, { from, to }: { readonly from: number; readonly to: number }): string {
  return text.slice(from, to)
}

/** The edit that puts something in a node's place. */
export function replace({ from, to }: { readonly from: number; readonly to: number }, insert: string): Edit {
  return { from, to, insert }
}

/** A mutator that changes single tokens by a table, where they stand in one of these kinds of node. */
export function tokenMutator(
  name: string,
  table: Readonly<Record<string, string>>,
  tokens: readonly string[],
  parents: readonly string[],
): Mutator {
  return {
    name,
    find: (node, source) => {
      if (!tokens.includes(node.name) || !parents.includes(node.parent?.name ?? '')) return []
      const text = textOf(source, node)
      const other = Object.hasOwn(table, text) ? table[text] : undefined
      return other === undefined ? [] : [replace(node, other)]
    },
  }
}

/** A statement is replaced by an empty one where the language wants a statement. */
export function withoutStatement(node: SyntaxNode, source: Source): Edit[] {
  const empty = source.language === 'python' ? 'pass' : node.parent?.name === 'Block' ? '' : ';'
  return [replace(withoutLineEnd(node, source), empty)]
}

/** Blocks of Python reach over their last line end, which the next line still needs. */
export function withoutLineEnd(
  { from, to }: SyntaxNode,
  { text }: Source,
): { readonly from: number; readonly to: number } {
  return { from, to: from + text.slice(from, to).trimEnd().length }
}
