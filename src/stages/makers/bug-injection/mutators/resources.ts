import type { SyntaxNode } from '@lezer/common'
import { childrenOf, type Source } from '../source.ts'
import { type Edit, emptied, type Mutator, replace, textOf, withoutLineEnd, withoutStatement } from './mutator.ts'

const releasing = new Set([
  ...['close', 'release', 'cleanup', 'shutdown', 'unlink', 'terminate', 'cancel', 'flush', 'unregister', 'disconnect'],
  ...['destroy', 'removeListener', 'removeEventListener', 'off', 'unsubscribe', 'clearTimeout', 'clearInterval', 'end'],
])

/** Resources that are not released, and objects shared where a copy was intended. */
export const resourceMutators: readonly Mutator[] = [
  {
    name: 'resource-leak',
    find: (node, source) => {
      if (node.name === 'ExpressionStatement') return isRelease(node, source) ? withoutStatement(node, source) : []
      if (source.language === 'python') return [...openedOnly(node, source), ...withoutFinally(node, source)]
      const block = node.name === 'FinallyClause' ? node.lastChild : null
      return block && block.to - block.from > 2 ? [replace(block, '{}')] : []
    },
  },
  {
    name: 'dropped-copy',
    find: (node, source) => {
      const copied = copiedBy(node, source)
      return copied ? [replace(node, textOf(source, copied))] : []
    },
  },
]

/** `file.close()` and the like, as a separate statement. */
function isRelease(statement: SyntaxNode, source: Source): boolean {
  const call = statement.firstChild?.name === 'CallExpression' ? statement.firstChild : null
  const callee = call?.firstChild
  const name = callee?.name === 'MemberExpression' ? callee.lastChild : callee
  return name ? releasing.has(textOf(source, name)) : false
}

/** `with open(x) as file:` becomes `file = open(x)`, and its body loses one level of indentation. */
function openedOnly(node: SyntaxNode, source: Source): Edit[] {
  const [, opened, as, name, body, more] = childrenOf(node)
  if (node.name !== 'WithStatement' || as?.name !== 'as' || body?.name !== 'Body' || more || !opened || !name) return []
  const margin = /[ \t]*$/.exec(source.text.slice(0, node.from))?.[0] ?? ''
  const text = textOf(source, withoutLineEnd(body, source))
  const first = /^:[ \t]*(?:#[^\n]*)?\n([ \t]+)/.exec(text)?.[1]
  // A multi-line string would change with its indentation.
  if (first === undefined || !first.startsWith(margin) || /"""|'''/.test(text)) return []
  const lines = text.slice(text.indexOf('\n') + 1).split('\n')
  const moved = lines.map((line) => (line.startsWith(first) ? margin + line.slice(first.length) : line))
  const insert = [`${textOf(source, name)} = ${textOf(source, opened)}`, ...moved].join('\n')
  return [{ from: node.from, to: withoutLineEnd(body, source).to, insert }]
}

function withoutFinally(node: SyntaxNode, source: Source): Edit[] {
  if (node.name !== 'TryStatement') return []
  const parts = childrenOf(node)
  const at = parts.findIndex(({ name }) => name === 'finally')
  const [before, body] = [parts[at - 1], parts[at + 1]]
  if (at < 0 || before?.name !== 'Body' || body?.name !== 'Body' || body !== parts.at(-1)) return []
  // With handlers, a try statement needs no `finally`.
  return parts.some(({ name }) => name === 'except')
    ? [{ from: withoutLineEnd(before, source).to, to: withoutLineEnd(body, source).to, insert: '' }]
    : [emptied(body, source)]
}

/** What `list(x)`, `x.copy()`, `x[:]`, `[...x]` and the like copy. */
function copiedBy(node: SyntaxNode, source: Source): SyntaxNode | null {
  if (!/^(?:Member|Array|Object|Call)Expression$/.test(node.name)) return null
  const parts = childrenOf(node)
  const text = parts.map((part) => textOf(source, part))
  if (node.name === 'MemberExpression') return text.slice(1).join('') === '[:]' ? (parts[0] ?? null) : null
  if (/^(?:Array|Object)Expression$/.test(node.name)) return spreadOf(node, source)
  if (node.name !== 'CallExpression') return null
  const [callee, list] = parts
  const values = list ? childrenOf(list) : []
  const only =
    values.length === 3 && /^(?:VariableName|MemberExpression)$/.test(values[1]?.name ?? '') ? values[1] : null
  if (callee && only && /^(?:list|dict|set|(?:copy\.)?(?:deep)?copy|Array\.from|structuredClone)$/.test(text[0] ?? ''))
    return only
  const isCopy = callee?.name === 'MemberExpression' && values.length === 2 && /[.](?:copy|slice)$/.test(text[0] ?? '')
  return isCopy ? callee.firstChild : null
}

function spreadOf(node: SyntaxNode, source: Source): SyntaxNode | null {
  const inner = node.getChild('Property') ?? node
  const name = inner.getChild('VariableName')
  return name && textOf(source, node).replace(/\s/g, '').slice(1, -1) === `...${textOf(source, name)}` ? name : null
}
