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

const anywhere = [
  ...['AssignStatement', 'AssignmentExpression', 'VariableDeclaration', 'PropertyDeclaration', 'Property', 'ArgList'],
  ...[
    'ReturnStatement',
    'BinaryExpression',
    'ConditionalExpression',
    'ParamList',
    'ArrayExpression',
    'DictionaryExpression',
  ],
]

/** Numbers, texts and truths that become others. */
export const constantMutators: readonly Mutator[] = [
  {
    name: 'off-by-one',
    find: (node, source) => {
      const text = textOf(source, node)
      if (node.name !== 'Number' || !/^\d{1,9}$/.test(text)) return []
      const value = Number(text)
      return [replace(node, String(value + 1)), ...(value > 0 ? [replace(node, String(value - 1))] : [])]
    },
  },
  {
    name: 'changed-constant',
    find: (node, source) => {
      const text = textOf(source, node)
      const isValue = anywhere.includes(node.parent?.name ?? '')
      if (node.name === 'Number' && isValue && /^\d{1,9}\.\d{1,9}$/.test(text))
        return [replace(node, `${text}1`), replace(node, '0.0')]
      if (node.name !== 'String' || !isValue || !/^(["']).{1,200}\1$/.test(text) || text.includes('\\')) return []
      return [replace(node, text[0] + text.slice(2))]
    },
  },
  tokenMutator(
    'boolean-constant',
    { true: 'false', false: 'true', True: 'False', False: 'True' },
    ['BooleanLiteral', 'Boolean'],
    anywhere,
  ),
]
