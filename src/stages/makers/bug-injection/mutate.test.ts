import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyFilePatch, parsePatch, renderPatch } from '../../../formats/unified-diff.ts'
import { applyEdits, findMutations, mutate, mutators } from './mutate.ts'
import { parseSource, type Source } from './source.ts'

const parse = (path: string, text: string): Source => {
  const source = parseSource(path, text)
  if (!source) throw new Error(`${path} does not parse`)
  return source
}

/** The results of a mutator on a piece of code. */
const results = (mutator: string, path: string, text: string): (string | null)[] => {
  const source = parse(path, text)
  return findMutations(source)
    .filter((found) => found.mutator === mutator)
    .map(({ edit }) => mutate(source, [edit]))
}

const js = (body: string) => `async function f(a, b) {\n  ${body}\n}\n`
const jsEmpty = 'async function f(a, b) {\n}\n'
const py = (...lines: string[]) => `async def f(a, b):\n${lines.map((line) => `    ${line}\n`).join('')}`

const examples: [mutator: string, path: string, before: string, after: string][] = [
  ['arithmetic-operator', 'x.js', js('return a + b'), js('return a - b')],
  ['arithmetic-operator', 'x.py', py('a += 1'), py('a -= 1')],
  ['comparison-flip', 'x.ts', js('return a < b'), js('return a <= b')],
  ['comparison-flip', 'x.py', py('return a == b'), py('return a != b')],
  ['logic-operator', 'x.js', js('return a && b'), js('return a || b')],
  ['logic-operator', 'x.py', py('return a and b'), py('return a or b')],
  ['negated-condition', 'x.js', js('while (a > b) a--'), js('while (!(a > b)) a--')],
  ['negated-condition', 'x.py', py('if a > b:', '    return 1'), py('if not (a > b):', '    return 1')],
  ['negated-condition', 'x.py', py('if a(b):', '    return 1'), py('if not a(b):', '    return 1')],
  ['negated-condition', 'x.py', py('while not a:', '    b()'), py('while a:', '    b()')],
  ['negated-condition', 'x.js', js('if (a.b) a()'), js('if (!a.b) a()')],
  ['negated-condition', 'x.js', js('if (!a) b()'), js('if (a) b()')],
  ['negated-condition', 'x.js', js('if (!(a && b)) b()'), js('if (a && b) b()')],
  ['negated-condition', 'x.py', py('if not (a and b):', '    b()'), py('if a and b:', '    b()')],
  ['removed-negation', 'x.js', js('return !a'), js('return a')],
  ['removed-negation', 'x.py', py('return not a'), py('return a')],
  ['swapped-branches', 'x.js', js('return a ? 1 : b'), js('return a ? b : 1')],
  ['swapped-branches', 'x.py', py('return 1 if a else b'), py('return b if a else 1')],
  ['off-by-one', 'x.js', js('return a[0]'), js('return a[1]')],
  ['off-by-one', 'x.py', py('return a[0]'), py('return a[1]')],
  ['changed-constant', 'x.js', js("return 'abc'"), js("return 'bc'")],
  ['changed-constant', 'x.py', py("return 'abc'"), py("return 'bc'")],
  ['boolean-constant', 'x.ts', js('return true'), js('return false')],
  ['boolean-constant', 'x.py', py('return True'), py('return False')],
  ['removed-branch', 'x.js', js('if (a) return 1\n  else return 2'), js('if (a) return 1')],
  ['removed-branch', 'x.py', py('if a:', '    b = 1', 'else:', '    b = 2'), py('if a:', '    b = 1')],
  ['removed-statement', 'x.js', js('a.push(b)'), jsEmpty],
  ['removed-statement', 'x.py', py('a.append(b)'), py('pass')],
  ['removed-statement', 'x.py', py('a.append(b)  # why', '', 'return a'), py('', 'return a')],
  ['returns-nothing', 'x.js', js('return a;'), js('return;')],
  ['returns-nothing', 'x.py', py('return a'), py('return')],
  ['removed-await', 'x.ts', js('return await a()'), js('return a()')],
  ['removed-await', 'x.py', py('return await a()'), py('return a()')],
  ['removed-null-check', 'x.js', js('if (a === null) return b'), jsEmpty],
  ['removed-null-check', 'x.ts', js('return a ?? b'), js('return a')],
  ['removed-null-check', 'x.ts', js('return a?.b'), js('return a.b')],
  ['removed-null-check', 'x.py', py('if a is None:', '    a = b', 'return a'), py('return a')],
  [
    'removed-null-check',
    'x.py',
    py('c()', '# Nothing', '# is b.', 'if a is None:', '    a = b', 'd()'),
    py('c()', 'd()'),
  ],
  ['removed-throw', 'x.js', js("if (a) throw new Error('no')"), jsEmpty],
  ['removed-throw', 'x.py', py('raise ValueError(a)'), py('pass')],
  ['removed-throw', 'x.py', py('b()', 'if a:', '    raise ValueError(a)'), py('b()')],
  [
    'removed-throw',
    'x.py',
    py('if a:', '    raise ValueError(a)', 'else:', '    b()'),
    py('if a:', '    pass', 'else:', '    b()'),
  ],
  ['swallowed-exception', 'x.js', js('try { a() } catch (e) { b(e) }'), js('try { a() } catch (e) {}')],
  [
    'swallowed-exception',
    'x.py',
    py('try:', '    a()', 'except E:', '    b()'),
    py('try:', '    a()', 'except E:', '    pass'),
  ],
  ['loop-bound', 'x.js', js('for (let i = 0; i < b; i++) a(i)'), js('for (let i = 0; i < b - 1; i++) a(i)')],
  ['loop-bound', 'x.py', py('for i in range(1, b):', '    a(i)'), py('for i in range(1, b - 1):', '    a(i)')],
  ['loop-bound', 'x.py', py('for i in range(b, 0, -1):', '    a(i)'), py('for i in range(b, -1, -1):', '    a(i)')],
  ['break-continue', 'x.js', js('for (;;) { if (a) break }'), js('for (;;) { if (a) continue }')],
  ['break-continue', 'x.py', py('while a:', '    continue'), py('while a:', '    break')],
  ['swapped-arguments', 'x.js', js('return g(a, 1)'), js('return g(1, a)')],
  ['swapped-arguments', 'x.py', py('return g(a, b, k=1)'), py('return g(b, a, k=1)')],
  ['wrong-variable', 'x.js', js('return a'), js('return b')],
  ['wrong-variable', 'x.py', py('return a'), py('return b')],
  ['removed-branch', 'x.js', js('if (a > 1) return b'), jsEmpty],
  ['removed-branch', 'x.py', py('if a > 1:', '    return b', 'return a'), py('return a')],
  ['removed-branch', 'x.py', py('b()', '', 'if a > 1:', '    return b', '', 'return a'), py('b()', '', 'return a')],
  ['wrong-method', 'x.js', js("return a.indexOf('/')"), js("return a.lastIndexOf('/')")],
  ['wrong-method', 'x.py', py("return a.startswith('x')"), py("return a.endswith('x')")],
  ['wrong-method', 'x.py', py('return max(a, b)'), py('return min(a, b)')],
  ['dropped-argument', 'x.js', js('return g(a, b)'), js('return g(a)')],
  ['dropped-argument', 'x.py', py('return sorted(a, key=len, reverse=True)'), py('return sorted(a, key=len)')],
  ['dropped-copy', 'x.js', js('const c = [...a]'), js('const c = a')],
  ['dropped-copy', 'x.ts', js('return { ...a }'), js('return a')],
  ['dropped-copy', 'x.py', py('self.items = list(a)'), py('self.items = a')],
  ['dropped-copy', 'x.py', py('return a.items.copy()'), py('return a.items')],
  ['dropped-copy', 'x.py', py('return a[:]'), py('return a')],
  ['resource-leak', 'x.js', js('try { a() } finally { b.close() }'), js('try { a() } finally {}')],
  ['resource-leak', 'x.js', js('clearTimeout(a)'), jsEmpty],
  [
    'resource-leak',
    'x.py',
    py('with open(a) as file:', '    for line in file:', '        b(line)', 'return b'),
    py('file = open(a)', 'for line in file:', '    b(line)', 'return b'),
  ],
  [
    'resource-leak',
    'x.py',
    py('try:', '    a()', 'finally:', '    b.pop()'),
    py('try:', '    a()', 'finally:', '    pass'),
  ],
  [
    'resource-leak',
    'x.py',
    py('try:', '    a()', 'except E:', '    c()', 'finally:', '    b.pop()'),
    py('try:', '    a()', 'except E:', '    c()'),
  ],
  ['resource-leak', 'x.py', py('a.close()', 'return b'), py('return b')],
]

test.each(examples)('%s in %s', (mutator, path, before, after) => {
  expect(results(mutator, path, before)).toContain(after)
})

test('texts and lists are joined, and no other operator is tried on them', () => {
  const texts = ["a += b'=' * 3", "a = b + 'x'", 'a = b + [1]', "a = f'{b}' + a"]
  expect(texts.flatMap((text) => results('arithmetic-operator', 'x.py', py(text)))).toEqual([])
  expect(results('arithmetic-operator', 'x.js', js("return a + '!'"))).toEqual([])
})

test('nothing is added, subtracted or multiplied that changes nothing', () => {
  const operations: [path: string, before: string, after: string][] = [
    ['x.py', py('a += 1'), py('a += 2')],
    ['x.js', js('a -= 1'), js('a -= 2')],
    ['x.py', py('return a - (1)'), py('return a - (2)')],
    ['x.js', js('return a + ((1))'), js('return a + ((2))')],
    ['x.py', py('return a * 2'), py('return a * 3')],
    ['x.py', py('return a / 2'), py('return a / 3')],
    ['x.py', py('return a // 2'), py('return a // 3')],
    ['x.py', py('return a ** 2'), py('return a ** 3')],
    ['x.py', py('return a % 2'), py('return a % 3')],
    ['x.py', py('a *= 2'), py('a *= 3')],
    ['x.js', js('return 2 * a'), js('return 3 * a')],
    ['x.js', js('return a << 1'), js('return a << 2')],
  ]
  for (const [path, before, after] of operations) expect(results('off-by-one', path, before), before).toEqual([after])
  expect(results('off-by-one', 'x.py', py('return a + 2'))).toContain(py('return a + 1'))
  expect(results('off-by-one', 'x.py', py('return a * 3'))).toContain(py('return a * 2'))
  expect(results('off-by-one', 'x.py', py('return a - 1'))).toEqual([py('return a - 2')])
  expect(results('off-by-one', 'x.js', js('return a + 1'))).toEqual([js('return a + 2')])
  expect(results('off-by-one', 'x.py', py('return a == 1'))).toContain(py('return a == 0'))
})

test('every mutator has an example in Python and in JavaScript or TypeScript', () => {
  for (const { name } of mutators) {
    const endings = examples.filter(([mutator]) => mutator === name).map(([, path]) => path.slice(2))
    expect(endings, name).toContain('py')
    expect(
      endings.some((ending) => ending !== 'py'),
      name,
    ).toBe(true)
  }
})

test.each([
  ['a switch keeps its break', 'break-continue', 'x.js', js('switch (a) { case 1: break }')],
  ['a docstring stays', 'removed-statement', 'x.py', py('"""Does it."""', 'return a')],
  ['an import keeps its name', 'changed-constant', 'x.js', "import x from 'abc'\n"],
  ['a constructor with two values is no copy', 'dropped-copy', 'x.py', py('return dict(a, k=b)')],
  ['isinstance keeps the order of its arguments', 'swapped-arguments', 'x.py', py('return isinstance(a, b)')],
  ['a method that is not called stays', 'wrong-method', 'x.py', py('return a.find')],
  ['a text over several lines keeps its margin', 'resource-leak', 'x.py', py('with a as b:', '    c = """', 'x"""')],
  ['the name of a keyword argument is no variable', 'wrong-variable', 'x.py', py('g(a=1)')],
])('%s', (_, mutator, path, text) => {
  expect(results(mutator, path, text)).toEqual([])
})

test('a file that does not parse, or of another language, is no source', () => {
  expect(parseSource('x.js', 'function (')).toBeNull()
  expect(parseSource('x.py', 'def f(:\n')).toBeNull()
  expect(parseSource('x.rb', 'puts 1')).toBeNull()
})

describe('on whole files', () => {
  const ours = readdirSync('src/lib').filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const python = ['data/swesmith/fixtures'].flatMap((dir) =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.py'))
      .map((name) => `${dir}/${name}`),
  )
  const sources = [...ours.map((name) => `src/lib/${name}`), ...python]
    .map((path) => parseSource(path, readFileSync(path, 'utf8')))
    .filter((source) => source !== null)

  test('what mutators make still parses, and the reverse patch brings every byte back', () => {
    expect(sources.length).toBeGreaterThan(30)
    expect(sources.filter(({ language }) => language === 'python').length).toBe(python.length)
    expect(python.length).toBeGreaterThan(2)
    const all = sources.map((source) => ({ source, found: findMutations(source) }))
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (file, which) => {
        const { source, found } = all[file % all.length]!
        const mutation = found[which % found.length]
        if (!mutation) return
        const mutated = mutate(source, [mutation.edit])
        expect(mutated, `${mutation.mutator} in ${source.path} at ${mutation.edit.from}`).not.toBeNull()
        expect(mutated).not.toBe(source.text)
        const [back] = parsePatch(renderPatch(source.path, mutated!, source.text))
        expect(applyFilePatch(mutated!, back!)).toBe(source.text)
      }),
      { numRuns: 400 },
    )
  })
})

test('edits that overlap are not made together', () => {
  const edits = [
    { from: 0, to: 3, insert: 'x' },
    { from: 2, to: 4, insert: 'y' },
  ]
  expect(applyEdits('abcdef', edits)).toBeNull()
  expect(applyEdits('abcdef', [edits[0]!, { from: 4, to: 4, insert: '-' }])).toBe('xd-ef')
})
