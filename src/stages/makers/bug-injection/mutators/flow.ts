import type { SyntaxNode } from '@lezer/common'
import { childrenOf } from '../source.ts'
import { type Mutator, replace, textOf } from './mutator.ts'

/** Loops that end elsewhere. */
export const flowMutators: readonly Mutator[] = [
  {
    name: 'loop-bound',
    find: (node, source) => {
      const bound = source.language === 'python' ? rangeEnd(node, source.text) : forBound(node)
      return bound
        ? [
            replace(bound, `${operand(textOf(source, bound))} - 1`),
            replace(bound, `${operand(textOf(source, bound))} + 1`),
          ]
        : []
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

/** Whether `continue` is allowed where `break` is: the nearest thing that either leaves is a loop. */
function isInLoop(node: SyntaxNode): boolean {
  for (let around = node.parent; around; around = around.parent) {
    if (/^(?:For|While|Do)Statement$/.test(around.name)) return true
    if (/^SwitchStatement$|Function|Method|Class/.test(around.name)) return false
  }
  return false
}
