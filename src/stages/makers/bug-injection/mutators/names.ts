import type { SyntaxNode } from '@lezer/common'
import { childrenOf, functionAround, type Source } from '../source.ts'
import { type Mutator, replace, textOf } from './mutator.ts'

/** The right kind of thing in the wrong place. */
export const nameMutators: readonly Mutator[] = [
  {
    name: 'swapped-arguments',
    find: (node, source) => {
      if (node.name !== 'ArgList' || isObvious(node, source)) return []
      const [first, second] = plainArguments(node)
      if (!first || !second || textOf(source, first) === textOf(source, second)) return []
      const between = source.text.slice(first.to, second.from)
      return [{ from: first.from, to: second.to, insert: textOf(source, second) + between + textOf(source, first) }]
    },
  },
  {
    name: 'wrong-variable',
    find: (node, source) => {
      const around = node.name === 'VariableName' && isRead(node) ? functionAround(node) : null
      if (!around) return []
      const names = variablesOf(around, source)
      const other = names[(names.indexOf(textOf(source, node)) + 1) % names.length]
      const isKnown = names.includes(textOf(source, node))
      return isKnown && other !== undefined && names.length > 1 ? [replace(node, other)] : []
    },
  },
]

/** Built-in functions that fail at once when their arguments are swapped: such a mutant is never kept. */
function isObvious({ prevSibling: callee }: SyntaxNode, source: Source): boolean {
  return (
    callee !== null && /^(?:isinstance|issubclass|hasattr|getattr|setattr|super|open)$/.test(textOf(source, callee))
  )
}

/** The first two arguments, if both are single positional values. */
function plainArguments(list: SyntaxNode): SyntaxNode[] {
  const [, first, comma, second, end] = childrenOf(list)
  const isPlain = first && comma?.name === ',' && second && (end?.name === ',' || end?.name === ')')
  return isPlain && first.name !== 'Spread' && second.name !== 'Spread' ? [first, second] : []
}

const readers = new Set([
  ...['BinaryExpression', 'UnaryExpression', 'ReturnStatement', 'ArgList', 'ParenthesizedExpression'],
  ...['ConditionalExpression', 'ArrayExpression', 'AwaitExpression', 'IfStatement', 'WhileStatement'],
])

function isRead(node: SyntaxNode): boolean {
  const { parent } = node
  // The name of a keyword argument is not a variable.
  return parent !== null && readers.has(parent.name) && node.nextSibling?.name !== 'AssignOp'
}

/** Names that a function takes or sets itself, excluding functions within it. */
function variablesOf(around: SyntaxNode, source: Source): string[] {
  const names = new Set<string>()
  const isWithin = (node: SyntaxNode) => functionAround(node)?.from === around.from
  around.cursor().iterate(({ node }) => {
    const isSet =
      node.name === 'VariableDefinition' ||
      (node.name === 'VariableName' && node.parent?.name === 'ParamList' && node.prevSibling?.name !== 'AssignOp') ||
      (node.name === 'VariableName' && node.parent?.name === 'AssignStatement' && node.nextSibling?.name === 'AssignOp')
    if (isSet && isWithin(node)) names.add(textOf(source, node))
  })
  for (const bound of ['self', 'cls']) names.delete(bound)
  return [...names]
}
