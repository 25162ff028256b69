import type { SyntaxNode, Tree } from '@lezer/common'
import { parser as javascript } from '@lezer/javascript'
import { parser as python } from '@lezer/python'

/** A source file that can be mutated, with its syntax tree. */
export interface Source {
  readonly path: string
  readonly language: 'python' | 'javascript'
  readonly text: string
  readonly tree: Tree
}

const typescript = javascript.configure({ dialect: 'ts' })
const parsers = {
  py: python,
  js: javascript.configure({ dialect: 'jsx' }),
  cjs: javascript,
  mjs: javascript,
  jsx: javascript.configure({ dialect: 'jsx' }),
  ts: typescript,
  mts: typescript,
  cts: typescript,
  tsx: javascript.configure({ dialect: 'ts jsx' }),
}

/** Parses a file in a supported language; null for any other, or if part of its syntax is not understood. */
export function parseSource(path: string, text: string): Source | null {
  const ending = /\.(\w+)$/.exec(path)?.[1] ?? ''
  if (!Object.hasOwn(parsers, ending)) return null
  const tree = parsers[ending as keyof typeof parsers].parse(text)
  if (hasErrors(tree)) return null
  return { path, language: ending === 'py' ? 'python' : 'javascript', text, tree }
}

function hasErrors(tree: Tree): boolean {
  let found = false
  tree.iterate({
    enter: ({ type }) => {
      found ||= type.isError
      return !found
    },
  })
  return found
}

/** A node's children in order, without comments. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = []
  for (let child = node.firstChild; child; child = child.nextSibling)
    if (!/Comment$/.test(child.name)) children.push(child)
  return children
}

const functions = new Set([
  'FunctionDefinition',
  'LambdaExpression',
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunction',
  'MethodDeclaration',
])

/** The innermost function around a node, or null at the top level. */
export function functionAround(node: SyntaxNode): SyntaxNode | null {
  for (let around = node.parent; around; around = around.parent) if (functions.has(around.name)) return around
  return null
}

/** Every function of a file whose body has its own lines, outermost first. */
export function functionsOf({ tree, text }: Source): SyntaxNode[] {
  const found: SyntaxNode[] = []
  tree.iterate({
    enter: ({ node }) => {
      if (functions.has(node.name) && text.slice(node.from, node.to).includes('\n')) found.push(node)
    },
  })
  return found
}
