import type { SyntaxNode } from '@lezer/common'
import { childrenOf, type Source } from '../source.ts'
import { type Mutator, replace, textOf, tokenMutator } from './mutator.ts'

const arithmetic = { '+': '-', '-': '+', '*': '+', '/': '*', '%': '*', '//': '/', '**': '*', '+=': '-=', '-=': '+=' }
const comparisons = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
  ...{ '==': '!=', '!=': '==', '===': '!==', '!==': '===' },
}

const arithmeticMutator = tokenMutator(
  'arithmetic-operator',
  arithmetic,
  ['ArithOp', 'UpdateOp'],
  ['BinaryExpression', 'AssignmentExpression', 'UpdateStatement'],
)
const texts = /^(?:String|ContinuedString|FormatString|TemplateString|ArrayExpression|ArrayComprehensionExpression)$/

/** Whether either side of an operator is a string or a list, possibly repeated. */
function joinsTexts({ parent }: SyntaxNode): boolean {
  return (parent ? childrenOf(parent) : []).some(
    (part) => texts.test(part.name) || (part.name === 'BinaryExpression' && texts.test(part.firstChild?.name ?? '')),
  )
}

/** Whether a number would look odd there: people do not write `x - 0` or `x * 1`. */
function isIdle(value: number, { parent }: SyntaxNode, source: Source): boolean {
  if (parent?.name === 'ParenthesizedExpression') return isIdle(value, parent, source)
  const operator = (parent ? childrenOf(parent) : []).find(({ name }) => /^(?:ArithOp|BitOp|UpdateOp)$/.test(name))
  return operator !== undefined && value <= (/^[*/%]/.test(textOf(source, operator)) ? 1 : 0)
}

/** Removes brackets that only the negation needed. */
function unwrapped(text: string, kind: string): string {
  return kind === 'ParenthesizedExpression' && !text.includes('\n') ? text.slice(1, -1) : text
}

/** Replaces operators with others of their kind, and inverts conditions. */
export const operatorMutators: readonly Mutator[] = [
  {
    ...arithmeticMutator,
    // Strings and lists can only be concatenated. With another operator, the code fails at once.
    find: (node, source) => (joinsTexts(node) ? [] : arithmeticMutator.find(node, source)),
  },
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
      const not = source.language === 'python' ? 'not ' : '!'
      // People do not write `not (not a)` or brackets around a single name.
      const [operator, operand] = condition.name === 'UnaryExpression' ? childrenOf(condition) : []
      if (operator && operand && textOf(source, operator) === not.trim())
        return [replace(condition, unwrapped(textOf(source, operand), operand.name))]
      return [replace(condition, single.test(condition.name) ? `${not}${inner}` : `${not}(${inner})`)]
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

const single = /^(?:VariableName|MemberExpression|CallExpression|Boolean|BooleanLiteral|this|ParenthesizedExpression)$/

/** The condition of an `if` or `while`. */
function conditionIn(node: SyntaxNode, language: 'python' | 'javascript') {
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

/** Changes numbers, strings and booleans. */
export const constantMutators: readonly Mutator[] = [
  {
    name: 'off-by-one',
    find: (node, source) => {
      const text = textOf(source, node)
      if (node.name !== 'Number' || !/^\d{1,9}$/.test(text)) return []
      const value = Number(text)
      const others = [value + 1, value - 1].filter((other) => other >= 0 && !isIdle(other, node, source))
      return others.map((other) => replace(node, String(other)))
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
