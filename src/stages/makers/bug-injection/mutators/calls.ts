import { childrenOf } from '../source.ts'
import { type Mutator, replace, textOf } from './mutator.ts'

const pairs = [
  ...[
    ['startswith', 'endswith'],
    ['append', 'extend'],
    ['lstrip', 'rstrip'],
    ['lower', 'upper'],
  ],
  ...[
    ['find', 'rfind'],
    ['index', 'rindex'],
    ['split', 'rsplit'],
    ['partition', 'rpartition'],
    ['keys', 'values'],
    ['union', 'intersection'],
  ],
  ...[
    ['startsWith', 'endsWith'],
    ['indexOf', 'lastIndexOf'],
    ['push', 'unshift'],
    ['shift', 'pop'],
    ['trimStart', 'trimEnd'],
  ],
  ...[
    ['toLowerCase', 'toUpperCase'],
    ['some', 'every'],
    ['min', 'max'],
    ['floor', 'ceil'],
    ['any', 'all'],
    ['padStart', 'padEnd'],
  ],
] as const
const twins = new Map(pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]).map(([a, b]) => [a as string, b]))

/** Calls to the wrong function, and calls that leave something out. */
export const callMutators: readonly Mutator[] = [
  {
    name: 'wrong-method',
    find: (node, source) => {
      const isCallee =
        node.name === 'VariableName' ? node.parent?.name === 'CallExpression' && !node.prevSibling : isMethod(node)
      const twin = isCallee ? twins.get(textOf(source, node)) : undefined
      return twin === undefined ? [] : [replace(node, twin)]
    },
  },
  {
    name: 'dropped-argument',
    find: (node) => {
      if (node.name !== 'ArgList') return []
      const parts = childrenOf(node)
      const comma = parts.findLastIndex(({ name }) => name === ',')
      const [before, last, end] = [parts[comma - 1], parts.at(-2), parts.at(-1)]
      // A trailing comma separates nothing.
      if (!before || !last || last.name === ',' || end?.name !== ')') return []
      return [{ from: before.to, to: last.to, insert: '' }]
    },
  },
]

function isMethod({ name, parent, nextSibling }: Parameters<Mutator['find']>[0]): boolean {
  const isLast = name === 'PropertyName' && parent?.name === 'MemberExpression' && !nextSibling
  return isLast && parent.parent?.name === 'CallExpression' && !parent.prevSibling
}
