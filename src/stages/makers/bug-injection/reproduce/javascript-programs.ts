import { dirname, posix } from 'node:path'
import type { SyntaxNode } from '@lezer/common'
import { childrenOf, functionAround, type Source } from '../source.ts'
import type { Program } from './example.ts'

/** Programs from one test file: the values its assertions check, with the variables they need. */
export function programsOf(source: Source): Program[] {
  const known = importsOf(source)
  const found: Program[] = []
  source.tree.iterate({
    enter: ({ node }) => {
      const looked = node.name === 'CallExpression' ? lookedAt(node, source) : null
      const program = looked ? programOf(looked, known, source) : null
      if (program) found.push(program)
    },
  })
  return found
}

function programOf(looked: SyntaxNode, known: ReadonlyMap<string, string>, source: Source): Program | null {
  const imports = new Set<string>()
  const setup: SyntaxNode[] = []
  const waiting = [looked]
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const names = freeNames(node, source)
    if (!names) return null
    for (const name of names) {
      const line = known.get(name)
      if (line !== undefined) imports.add(line)
      else if (!(name in globalThis) && name !== 'undefined') {
        const declared = declarationOf(name, looked, source)
        if (!declared) return null
        if (setup.some(({ from }) => from === declared.from)) continue
        setup.push(declared)
        waiting.push(declared)
      }
    }
  }
  if (imports.size === 0 || setup.length > 4) return null
  const text = ({ from, to }: SyntaxNode) => source.text.slice(from, to)
  return { imports: [...imports].sort(), setup: setup.sort((a, b) => a.from - b.from).map(text), expr: text(looked) }
}

/**
 * What `assert.equal(x, y)`, `t.same(x, y)` and `expect(x).toBe(y)` check; for a function that must throw, what it
 * returns.
 */
function lookedAt(call: SyntaxNode, { text }: Source): SyntaxNode | null {
  const [callee, list] = childrenOf(call)
  const name = callee ? text.slice(callee.from, callee.to) : ''
  const first = list ? childrenOf(list)[1] : undefined
  if (!first || !/^(?:assert|t|tap|expect)(?:\.\w+)*$/.test(name) || /\.(?:test|plan)$/.test(name)) return null
  const value = first.name === 'ArrowFunction' ? first.lastChild : first
  return value && /^(?:CallExpression|VariableName|MemberExpression|NewExpression)$/.test(value.name) ? value : null
}

/** The free names in a piece of code; null if it contains functions or awaits. */
function freeNames(node: SyntaxNode, { text }: Source): string[] | null {
  const names = new Set<string>()
  let isPlain = true
  node.cursor().iterate(({ name, from, to }) => {
    if (name === 'VariableName') names.add(text.slice(from, to))
    if (/Function|^await$|AssignmentExpression/.test(name)) isPlain = false
  })
  return isPlain ? [...names] : null
}

/** The only declaration of a name in the function around the assertion. */
function declarationOf(name: string, looked: SyntaxNode, { text }: Source): SyntaxNode | null {
  const around = functionAround(looked)
  const found: SyntaxNode[] = []
  around?.cursor().iterate(({ node }) => {
    const isIt = node.name === 'VariableDefinition' && text.slice(node.from, node.to) === name
    if (isIt && node.parent?.name === 'VariableDeclaration' && node.from < looked.from) found.push(node.parent)
  })
  return found.length === 1 ? (found[0] ?? null) : null
}

/** Names that the file imports from the project, each with an import line that works from the project's folder. */
function importsOf({ tree, text, path }: Source): Map<string, string> {
  const found = new Map<string, string>()
  for (const node of childrenOf(tree.topNode)) {
    const line = text.slice(node.from, node.to)
    const isRequire = node.name === 'VariableDeclaration' && /=\s*require\(/.test(line)
    const from = /(['"])(\.{1,2}(?:\/[^'"]*)?)\1/.exec(line)?.[2]
    if ((node.name !== 'ImportDeclaration' && !isRequire) || from === undefined) continue
    const target = posix.join(dirname(path), from)
    if (target.startsWith('..') || isTestPath(target)) continue
    const moved = line.replace(from, target === '.' || target === './' ? './' : `./${target}`).replace(/;?\s*$/, '')
    node.cursor().iterate((one) => {
      if (one.name === 'VariableDefinition') found.set(text.slice(one.from, one.to), moved)
    })
  }
  return found
}

function isTestPath(path: string): boolean {
  return /(?:^|\/)(?:tests?|__tests__|specs?|fixtures?)(?:\/|$)/.test(path)
}
