import type { SyntaxNode } from '@lezer/common'
import type { RepositoryFiles } from '../../shared/repositories/repository.ts'
import { asText } from '../../shared/repositories/test-files.ts'
import type { Mutation } from './mutate.ts'
import { childrenOf, functionAround, functionsOf, parseSource, type Source } from './source.ts'

/** The name under which reintroduced bugs of older versions are counted. */
export const revertedFix = 'reverted-fix'

/** A change with more lines than this is more than a fix. */
const widest = 14

/** Functions that differ in another version of the repository, each reverted as one edit. */
export function findReverts(sources: readonly Source[], older: RepositoryFiles): Mutation[] {
  return sources.flatMap((source) => {
    const before = parseSource(source.path, asText(older[source.path]?.data ?? '') ?? '')
    if (!before) return []
    const known = namedFunctions(before)
    return [...namedFunctions(source)].flatMap(([name, now]) => {
      const then = known.get(name)
      if (!then || !isFix(partsOf(then, before), partsOf(now, source))) return []
      const edit = { from: now.from, to: endOf(now, source), insert: before.text.slice(then.from, endOf(then, before)) }
      return [{ mutator: revertedFix, path: source.path, edit, place: now.from }]
    })
  })
}

interface Parts {
  readonly head: string
  readonly code: readonly string[]
}

/** The same parameters and a small change: if the arguments differ, it is a new feature. */
function isFix(then: Parts, now: Parts): boolean {
  if (then.head !== now.head) return false
  const [old, fresh] = [new Set(then.code), new Set(now.code)]
  const changed = [...then.code.filter((line) => !fresh.has(line)), ...now.code.filter((line) => !old.has(line))]
  return changed.length > 0 && changed.length <= widest
}

/** Top-level functions and methods, keyed by the names of the classes around them. Ambiguous names are left out. */
function namedFunctions(source: Source): Map<string, SyntaxNode> {
  const found = new Map<string, SyntaxNode>()
  const twice = new Set<string>()
  for (const node of functionsOf(source)) {
    const name = functionAround(node) ? null : fullName(node, source)
    if (name === null) continue
    if (found.has(name)) twice.add(name)
    found.set(name, node)
  }
  for (const name of twice) found.delete(name)
  return found
}

function fullName(node: SyntaxNode, { text }: Source): string | null {
  const names: string[] = []
  for (let around: SyntaxNode | null = node; around; around = around.parent) {
    if (around !== node && !/^Class/.test(around.name)) continue
    const name = ['VariableName', 'VariableDefinition', 'PropertyDefinition'].map((kind) => around?.getChild(kind))
    const own = name.find((one) => one !== null && one !== undefined)
    if (own) names.unshift(text.slice(own.from, own.to))
    else if (around === node) return null
  }
  return names.join('.')
}

/** The signature of a function, and its lines of code without comments and docstring. */
function partsOf(node: SyntaxNode, source: Source): Parts {
  const body = node.getChild('Body') ?? node.getChild('Block') ?? node
  const list = node.getChild('ParamList')
  const head = list ? source.text.slice(list.from, list.to) : ''
  const first = childrenOf(body)[1]
  const isText = first?.name === 'ExpressionStatement' && first.firstChild?.name === 'String'
  const code = source.text.slice(isText ? first.to : (first?.from ?? body.from), endOf(node, source))
  const lines = code.split('\n').map((line) => line.replace(/(?:#|\/\/).*$/, '').trim())
  return { head: head.replace(/\s+/g, ''), code: lines.filter((line) => line !== '') }
}

/** Python blocks extend past their final line break. */
function endOf({ from, to }: SyntaxNode, { text }: Source): number {
  return from + text.slice(from, to).trimEnd().length
}
