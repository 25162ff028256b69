import { type Mutator, replace, textOf, tokenMutator } from './mutator.ts'

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
