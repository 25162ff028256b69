import type { SyntaxNode } from '@lezer/common'
import { childrenOf, type Source } from '../source.ts'

/** A range of a file and its replacement. */
export interface Edit {
  readonly from: number
  readonly to: number
  readonly insert: string
}

/** One way to break code: the edits it can make at a node of a syntax tree. */
export interface Mutator {
  /** Kebab-case: yields are counted by it. */
  readonly name: string
  find(node: SyntaxNode, source: Source): readonly Edit[]
}

/** The text of a node. */
export function textOf({ text }: Source, { from, to }: { readonly from: number; readonly to: number }): string {
  return text.slice(from, to)
}

/** The edit that replaces a node. */
export function replace({ from, to }: { readonly from: number; readonly to: number }, insert: string): Edit {
  return { from, to, insert }
}

/** A mutator that replaces single tokens by a table, within nodes of these kinds. */
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

/**
 * The edits that remove a statement. An empty statement in its place would give the bug away, so its lines are removed,
 * and with them a condition that contained nothing else. If the language requires a statement, one that does nothing
 * remains.
 */
export function withoutStatement(node: SyntaxNode, source: Source): Edit[] {
  const target = withConditions(node)
  const { text, language } = source
  const { from, to } = withoutLineEnd(target, source)
  const start = text.lastIndexOf('\n', from - 1) + 1
  const [tail = ''] = /^[ \t;]*(?:(?:#|\/\/).*)?/.exec(text.slice(to)) ?? []
  const end = to + tail.length
  const isWhole = text.slice(start, from).trim() === '' && /^(?:\r?\n|$)/.test(text.slice(end))
  const hasOthers = language === 'python' ? others(target).length > 0 : target.parent?.name === 'Block'
  if (isWhole && hasOthers) return [{ from: commentsAbove(text, start), to: lineAfter(text, start, end), insert: '' }]
  return [replace({ from, to }, language === 'python' ? 'pass' : target.parent?.name === 'Block' ? '' : ';')]
}

/** Where the comment directly above a line with the same indentation begins: it may explain what the line was for. */
function commentsAbove(text: string, start: number): number {
  const margin = /^[ \t]*/.exec(text.slice(start))?.[0] ?? ''
  const above = text.lastIndexOf('\n', start - 2) + 1
  const line = text.slice(above, start)
  const isComment = start > 0 && line.startsWith(margin) && /^(?:#|\/\/)/.test(line.slice(margin.length))
  return isComment ? commentsAbove(text, above) : start
}

/** The statement, or the surrounding `if` that contains nothing else. */
function withConditions(node: SyntaxNode): SyntaxNode {
  const { parent } = node
  const isBlock = parent !== null && /^(?:Body|Block)$/.test(parent.name)
  const condition = isBlock && others(node).length === 0 ? parent.parent : parent
  const isAlone =
    condition?.name === 'IfStatement' && !childrenOf(condition).some(({ name }) => name === 'else' || name === 'elif')
  return isAlone ? withConditions(condition) : node
}

function others(node: SyntaxNode): SyntaxNode[] {
  return node.parent
    ? childrenOf(node.parent).filter(({ name, from }) => !/^[:{}]$/.test(name) && from !== node.from)
    : []
}

/** Where the next line starts; if two empty lines would meet, one is removed. */
function lineAfter(text: string, start: number, end: number): number {
  const next = text.indexOf('\n', end) + 1 || text.length
  const [blank = ''] = /^[ \t]*\r?\n/.exec(text.slice(next)) ?? []
  return /(?:^|\n)[ \t]*\r?\n$/.test(text.slice(0, start)) ? next + blank.length : next
}

/** The edit that empties a Python block, with `pass` on its own line as people write it. */
export function emptied(body: SyntaxNode, source: Source): Edit {
  const { from, to } = withoutLineEnd(body, source)
  const margin = /^:[ \t]*(?:#[^\n]*)?(\r?\n[ \t]+)/.exec(source.text.slice(from, to))?.[1]
  return { from, to, insert: margin === undefined ? ': pass' : `:${margin}pass` }
}

/** Python blocks extend past their final line break, which the next line still needs. */
export function withoutLineEnd(
  { from, to }: SyntaxNode,
  { text }: Source,
): { readonly from: number; readonly to: number } {
  return { from, to: from + text.slice(from, to).trimEnd().length }
}
