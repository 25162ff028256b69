import type { SyntaxNode } from '@lezer/common'
import { childrenOf, functionAround } from '../source.ts'
import { type Edit, emptied, type Mutator, replace, textOf, withoutStatement } from './mutator.ts'

/** Removes things: branches, statements, results, waits, checks, throws. */
export const removalMutators: readonly Mutator[] = [
  {
    name: 'removed-branch',
    find: (node, source) => {
      if (node.name !== 'IfStatement') return []
      const parts = childrenOf(node)
      const isOnly = !parts.some(({ name }) => name === 'else' || name === 'elif') && functionAround(node) !== null
      if (isOnly) return withoutStatement(node, source)
      return parts.flatMap((part, i): Edit[] => {
        const end = part.name === 'else' ? parts[i + 1] : part.name === 'elif' ? parts[i + 2] : undefined
        const before = parts[i - 1]
        return end && before ? [{ from: before.to, to: end.to, insert: '' }] : []
      })
    },
  },
  {
    name: 'removed-statement',
    find: (node, source) => {
      if (!['ExpressionStatement', 'AssignStatement', 'UpdateStatement'].includes(node.name)) return []
      const first = childrenOf(node)[0]
      const isPlain = first?.name === 'String' || textOf(source, node).startsWith('super')
      return isPlain || !functionAround(node) ? [] : withoutStatement(node, source)
    },
  },
  {
    name: 'returns-nothing',
    find: (node) => {
      const value = childrenOf(node)[1]
      if (node.name !== 'ReturnStatement' || !value || value.name === ';') return []
      return [{ from: node.from + 'return'.length, to: value.to, insert: '' }]
    },
  },
  {
    name: 'removed-await',
    find: (node, source) => {
      const value = childrenOf(node)[1]
      return node.name === 'AwaitExpression' && value ? [replace(node, textOf(source, value))] : []
    },
  },
  {
    name: 'removed-null-check',
    find: (node, source) => {
      const text = textOf(source, node)
      if (node.name === '?.' && node.nextSibling?.name === 'PropertyName') return [replace(node, '.')]
      if (node.name === 'LogicOp' && text === '??' && node.parent?.name === 'BinaryExpression') {
        const left = childrenOf(node.parent)[0]
        return left ? [replace(node.parent, textOf(source, left))] : []
      }
      if (node.name !== 'IfStatement' || childrenOf(node).some(({ name }) => name === 'else' || name === 'elif'))
        return []
      const condition = childrenOf(node)[1]
      const asks = condition ? textOf(source, condition) : ''
      return /\b(?:null|undefined|None)\b|^\(?\s*(?:!|not )\s*[\w.]+\s*\)?$/.test(asks)
        ? withoutStatement(node, source)
        : []
    },
  },
  {
    name: 'removed-throw',
    find: (node, source) =>
      node.name === 'ThrowStatement' || node.name === 'RaiseStatement' ? withoutStatement(node, source) : [],
  },
  {
    name: 'swallowed-exception',
    find: (node, source) => {
      if (source.language === 'javascript') {
        const block = node.name === 'CatchClause' ? node.lastChild : null
        return block && block.to - block.from > 2 ? [replace(block, '{}')] : []
      }
      if (node.name !== 'TryStatement') return []
      const parts = childrenOf(node)
      const handlers = parts.filter((part, i) => part.name === 'Body' && partBefore(parts, i) === 'except')
      return handlers
        .filter((body) => childrenOf(body)[1]?.name !== 'PassStatement')
        .map((body) => emptied(body, source))
    },
  },
]

/** The keyword of a try statement that a part belongs to. */
function partBefore(parts: readonly SyntaxNode[], index: number): string | undefined {
  return parts.slice(0, index).findLast(({ name }) => ['try', 'except', 'else', 'finally'].includes(name))?.name
}

/** Makes loops end elsewhere. */
export const flowMutators: readonly Mutator[] = [
  {
    name: 'loop-bound',
    find: (node, source) => {
      const bound = source.language === 'python' ? rangeEnd(node, source.text) : forBound(node)
      if (!bound) return []
      const text = textOf(source, bound)
      // People do not write `0 - 1`.
      const isNumber = /^\d{1,9}$/.test(text)
      return [-1, 1].map((by) =>
        replace(bound, isNumber ? String(Number(text) + by) : `${operand(text)} ${by < 0 ? '-' : '+'} 1`),
      )
    },
  },
  {
    name: 'break-continue',
    find: (node) => {
      const isPlain = childrenOf(node).every(({ name }) => ['break', 'continue', ';'].includes(name))
      if (!isPlain || !isInLoop(node)) return []
      const word = { from: node.from, to: node.from + (node.name === 'BreakStatement' ? 5 : 8) }
      if (node.name === 'BreakStatement') return [replace(word, 'continue')]
      return node.name === 'ContinueStatement' ? [replace(word, 'break')] : []
    },
  },
]

function operand(text: string): string {
  return /^[\w.()[\]]+$/.test(text) ? text : `(${text})`
}

/** The right side of `i < n` in `for (...; i < n; ...)`. */
function forBound(node: SyntaxNode): SyntaxNode | null {
  const condition = node.name === 'ForSpec' ? node.getChild('BinaryExpression') : null
  const [, operator, bound] = condition ? childrenOf(condition) : []
  return operator?.name === 'CompareOp' ? (bound ?? null) : null
}

/** The end of `for i in range(..., n)`; a third argument, the step, is not the end. */
function rangeEnd(node: SyntaxNode, text: string): SyntaxNode | null {
  const call = node.name === 'ForStatement' ? node.getChild('CallExpression') : null
  const [callee, list] = call ? childrenOf(call) : []
  if (!callee || !list || text.slice(callee.from, callee.to) !== 'range') return null
  const values = childrenOf(list).filter(({ name }) => !['(', ')', ','].includes(name))
  return values[Math.min(1, values.length - 1)] ?? null
}

/** Whether `continue` is allowed where `break` is: the nearest enclosing construct that either exits is a loop. */
function isInLoop(node: SyntaxNode): boolean {
  for (let around = node.parent; around; around = around.parent) {
    if (/^(?:For|While|Do)Statement$/.test(around.name)) return true
    if (/^SwitchStatement$|Function|Method|Class/.test(around.name)) return false
  }
  return false
}
