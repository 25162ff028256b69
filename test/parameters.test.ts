import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const most = 4

/** A signature that needs more takes the rest as an object with named fields. */
test('no function has more than four parameters', () => {
  const roots = ['src', 'data', 'web', 'examples', 'bench', 'test']
  expect(roots.flatMap(listSources).flatMap(longSignatures)).toEqual([])
})

test('every kind of function counts', () => {
  const code = `
    function declared(a, b, c, d, e) {}
    const arrow = (a, b, c, d, e) => {}
    const fine = (a, b, c, { d, e, f }) => {}
    class Some { constructor(a, b, c, d, e) {} method(a, b, c, d, e) {} }
    interface Other { signature(a, b, c, d, e): void; property: (a, b, c, d, e) => void }`
  expect(longSignaturesIn('some.ts', code)).toHaveLength(6)
  expect(longSignaturesIn('some.test.ts', 'test.each([])("", (a, b, c, d, e) => {})')).toEqual([])
})

function longSignatures(path: string): string[] {
  return longSignaturesIn(path, readFileSync(path, 'utf8'))
}

function longSignaturesIn(path: string, text: string): string[] {
  const found: string[] = []
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && node.parameters.length > most && !isRowOfTests(path, node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      found.push(`${path}:${line + 1}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** `test.each` and property tests pass one argument per column. */
function isRowOfTests(path: string, node: ts.Node): boolean {
  return path.endsWith('.test.ts') && ts.isArrowFunction(node) && ts.isCallExpression(node.parent)
}

function listSources(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(root, name))
    .sort()
}
