import { childrenOf } from '../source.ts'
import { type Mutator, replace, textOf, tokenMutator } from './mutator.ts'

const arithmetic = { '+': '-', '-': '+', '*': '+', '/': '*', '%': '*', '//': '/', '**': '*', '+=': '-=', '-=': '+=' }
const comparisons = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
  ...{ '==': '!=', '!=': '==', '===': '!==', '!==': '===' },
}

/** Operators that become another of their kind, and conditions that are turned round. */
export const operatorMutators: readonly Mutator[] = [
  tokenMutator(
    'arithmetic-operator',
    arithmetic,
    ['ArithOp', 'UpdateOp'],
    ['BinaryExpression', 'AssignmentExpression', 'UpdateStatement'],
  ),
  tokenMutator('comparison-flip', comparisons, ['CompareOp'], ['BinaryExpression']),
  tokenMutator(
    'logic-operator',
    { '&&': '||', '||': '&&', and: 'or', or: 'and' },
    ['LogicOp', 'and', 'or'],
    ['BinaryExpression'],
  ),
  {
    name: 'negated-condition',
    find: (node, source) => {
      const condition = conditionIn(node, source.language)
      const inner = condition && textOf(source, condition)
      if (!condition || !inner) return []
      return [replace(condition, source.language === 'python' ? `not (${inner})` : `!(${inner})`)]
    },
  },
  {
    name: 'removed-negation',
    find: (node, source) => {
      const [operator, operand] = childrenOf(node)
      if (node.name !== 'UnaryExpression' || !operator || !operand) return []
      return ['!', 'not'].includes(textOf(source, operator)) ? [replace(node, textOf(source, operand))] : []
    },
  },
  {
    name: 'swapped-branches',
    find: (node, source) => {
      if (node.name !== 'ConditionalExpression') return []
      const parts = childrenOf(node)
      const [first, second] = source.language === 'python' ? [parts[0], parts[4]] : [parts[2], parts[4]]
      if (!first || !second || textOf(source, first) === textOf(source, second)) return []
      const between = source.text.slice(first.to, second.from)
      return [
        { from: first.from, to: second.to, insert: `${textOf(source, second)}${between}${textOf(source, first)}` },
      ]
    },
  },
]

/** What an `if` or `while` asks. */
function conditionIn(node: Parameters<Mutator['find']>[0], language: 'python' | 'javascript') {
  if (node.name !== 'IfStatement' && node.name !== 'WhileStatement') return null
  const condition = childrenOf(node)[1]
  if (language === 'python') return condition ?? null
  return condition?.name === 'ParenthesizedExpression' ? (childrenOf(condition)[1] ?? null) : null
}
