import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeTempDir } from '../../../../../test/make-task.ts'
import { needs } from '../../../../../test/needs.ts'
import { makeRandom } from '../../../../lib/random.ts'
import { findLeak, plainTestName, renderInstruction, renderIssue } from '../issue.ts'
import { parseSource } from '../source.ts'
import { type Answer, chooseExamples, type Example, isSlip, type Program, renderProgram } from './example.ts'
import { programsOf } from './javascript-programs.ts'
import { pythonScript } from './python-script.ts'

const value = (text: string, more: Partial<Answer> = {}): Answer => ({
  ...{ kind: 'value', text, type: 'int', plain: true, listed: false },
  ...more,
})
const error = (text: string) => value(text, { kind: 'error', type: text.split(':')[0]! })
const program = (expr: string, ...setup: string[]): Program => ({ imports: ['import shop'], setup, expr })

const hasPytest = spawnSync('python3', ['-m', 'pytest', '--version']).status === 0

describe('programs of failing tests in Python', needs('python3'), () => {
  const files = {
    'shop/__init__.py': `
class Cart:
    def __init__(self, items=()):
        self.items = dict(items)
    def add(self, name, count=1):
        self.items[name] = count
    def total(self):
        return sum(self.items.values())
def words(text):
    for part in text.split(","):
        yield part
def price(text):
    return float(text)
`,
    'tests/test_shop.py': `
import unittest
import shop
from shop import Cart
from tests.helper import secret

START = {"tea": 2}

class ShopTest(unittest.TestCase):
    def setUp(self):
        self.cart = Cart(START)
    def test_adds(self):
        self.cart.total()
        cart = Cart()
        unrelated = 5
        cart.add("tea")
        cart.add("tea")
        self.assertEqual(cart.total(), 2)
    def test_starts(self):
        self.assertEqual(self.cart.total(), 3)
    def test_many(self):
        for text, count in [("a", 1), ("a, b", 2)]:
            self.assertEqual(list(shop.words(text)), [None] * count)
    def test_raises(self):
        with self.assertRaises(ValueError):
            shop.price("1e3")
    def test_iterates(self):
        assert shop.words("x") == []
    def test_remembers(self):
        seen = []
        def look(name):
            seen.append(name)
            return shop.price(name)
        self.assertEqual(look("1"), 1)
        assert look("2") == 2
        assert seen == []
    def test_counts(self):
        def look(name):
            later.append(name)
            return shop.price(name)
        later = []
        assert look("3") == 2
    def test_needs_a_helper(self):
        self.assertEqual(secret(Cart()), 1)
`,
    'tests/test_kinds.py': `
import unittest
from shop import Cart
from .helper import Cart as SameCart

class Box(Cart):
    pass

class Kinds:
    kind = None
    def setUp(self):
        self.full = self.kind({"tea": 2})
        self.box = {"in": self.full}
    def test_adds(self):
        cart = self.kind()
        cart.add("cup", 4)
        self.assertEqual(cart.total(), 5)
    def test_sets(self):
        self.empty = self.kind([("pot", 1)])
        self.assertEqual(self.empty.total(), 0)
    def test_fills(self):
        self.full.add("jar", 7)
        self.assertEqual(self.full.total(), 1)
    def test_keeps(self):
        self.assertEqual(self.box["in"].total(), 1)
    def test_imports(self):
        self.assertEqual(SameCart([("lid", 3)]).total(), 1)

class CartTest(Kinds, unittest.TestCase):
    kind = Cart

class BoxTest(Kinds, unittest.TestCase):
    kind = Box
`,
    'tests/helper.py': 'from shop import Cart\ndef secret(cart):\n    return 2\n',
    'tests/__init__.py': '',
  }

  test('hold what the failing statement needs, and nothing of the tests', async () => {
    const dir = await makeTempDir()
    for (const [path, text] of Object.entries({ ...files, 'reproduce.py': pythonScript })) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }
    const run = (...args: string[]) => {
      const { status, stderr } = spawnSync('python3', ['reproduce.py', ...args], { cwd: dir, encoding: 'utf8' })
      expect(status, stderr).toBe(0)
      return JSON.parse(readFileSync(join(dir, args.at(-1)!.endsWith('.json') ? args.at(-1)! : 'found.json'), 'utf8'))
    }
    const textsOf = (programs: Program[]) =>
      programs.map(({ imports, setup, expr }) => [...imports, ...setup, expr].join('; '))
    const kinds = (name: string) => textsOf(run('collect', 'unittest', 'found.json', `tests.test_kinds.${name}`))
    if (hasPytest) {
      const byPytest: Program[] = run('collect', 'pytest', 'found.json', 'tests/test_kinds.py::CartTest')
      expect(textsOf(byPytest)).toEqual(kinds('CartTest'))
    }
    const cart = 'from shop import Cart; '
    expect(kinds('CartTest')).toEqual(
      expect.arrayContaining([
        `${cart}cart = Cart(); cart.add('cup', 4); cart.total()`,
        `${cart}empty = Cart([('pot', 1)]); empty.total()`,
        `${cart}full = Cart({'tea': 2}); full.add('jar', 7); full.total()`,
        `${cart}full = Cart({'tea': 2}); box = {'in': full}; box['in'].total()`,
        "from shop import Cart as SameCart; SameCart([('lid', 3)]).total()",
      ]),
    )
    expect(kinds('BoxTest')).toContainEqual(
      expect.stringMatching(/^from shop import Cart; class Box\(Cart\):\s+pass; cart = Box\(\); cart.add/),
    )
    const found: Program[] = run('collect', 'unittest', 'found.json', 'tests.test_shop.ShopTest')
    const texts = textsOf(found)
    expect(texts).toContain("from shop import Cart; cart = Cart(); cart.add('tea'); cart.add('tea'); cart.total()")
    expect(texts).toContain("from shop import Cart; START = {'tea': 2}; cart = Cart(START); cart.total()")
    expect(texts).toContain("import shop; list(shop.words('a'))")
    expect(texts).toContain("import shop; shop.price('1e3')")
    expect(texts).toContainEqual(expect.stringMatching(/def look[^;]*; look\('1'\); look\('2'\); seen$/))
    expect(texts).toContainEqual(expect.stringMatching(/later = \['3'\]; def look[^;]*later.append[^;]*; look\('3'\)$/))
    expect(texts.join('\n')).not.toMatch(/secret|helper|test_|self|unrelated/)
    const answers: Answer[] = run('run', 'found.json', 'answers.json')
    const answerTo = (expr: string) => answers[found.findIndex((one) => one.expr === expr)]
    expect(answerTo("shop.price('1e3')")).toMatchObject({ kind: 'value', text: '1000.0' })
    expect(answerTo("shop.words('x')")).toMatchObject({ kind: 'value', text: "['x']", listed: true })
  })
})

test('programs of JavaScript are what assertions look at, imported from the project', () => {
  const source = parseSource(
    'test/cart.js',
    `import assert from 'node:assert'
import { total, tax as vat } from '../src/cart.js'
import { secret } from './helper.js'
test('adds', () => {
  const items = [1, 2]
  assert.equal(total(items), 3)
  assert.throws(() => vat(null))
  assert.equal(secret(1), 2)
  assert.equal(total(items.map((x) => x)), 3)
})
`,
  )!
  const line = "import { total, tax as vat } from './src/cart.js'"
  expect(programsOf(source)).toEqual([
    { imports: [line], setup: ['const items = [1, 2]'], expr: 'total(items)' },
    { imports: [line], setup: [], expr: 'vat(null)' },
  ])
})

test('what shows a difference is chosen, and plain values before yes and no', () => {
  const programs = ['shop.a() == 2', 'shop.b()', 'shop.c()', 'shop.d()', 'shop.e()'].map((expr) => program(expr))
  const good = [value('True'), value('2'), value('<A object at 0x7f01>'), error('NameError: x'), null]
  const bad = [value('False'), value('3'), value('4'), value('5'), value('6')]
  const found = chooseExamples('python', programs, good, bad)
  expect(found.map((one) => one.program.expr)).toEqual(['shop.b()', 'shop.a() == 2'])
  const kept = ['shop.Cart()._items', 'shop._total', 'shop.Cart().__len__()'].map((expr) => program(expr))
  const shown = chooseExamples('python', kept, good.slice(0, 2).concat(value('1')), bad.slice(0, 3))
  expect(shown.map((one) => one.program.expr)).toEqual(['shop.Cart().__len__()'])
  expect(isSlip({ ...found[0]!, actual: error("NameError: name 'x' is not defined") })).toBe(true)
  expect(isSlip(found[0]!)).toBe(false)
  const slips = [
    "unsupported operand type(s) for -=: 'bytes' and 'bytes'",
    "f() missing 1 required positional argument: 'x'",
    'isinstance expected 2 arguments, got 1',
    "can't multiply sequence by non-int of type 'tuple'",
    'can only concatenate str (not "int") to str',
  ]
  for (const text of slips) expect(isSlip({ ...found[0]!, actual: error(`TypeError: ${text}`) })).toBe(true)
  const others = [
    "'NoneType' object is not iterable",
    "unsupported operand type(s) for +: 'NoneType' and 'int'",
    'can only concatenate str (not "NoneType") to str',
  ]
  for (const text of others) expect(isSlip({ ...found[0]!, actual: error(`TypeError: ${text}`) })).toBe(false)
})

test('a program is shown as a user would write it', () => {
  const shown = (expected: Answer, actual: Answer) =>
    renderProgram({ language: 'python', program: program('cart.total()', 'cart = shop.Cart()'), expected, actual })
  expect(shown(value('1'), value('2'))).toBe('import shop\n\ncart = shop.Cart()\n\nprint(cart.total())')
  expect(shown(value("'a'", { plain: false }), value("'b'"))).toContain('print(repr(cart.total()))')
  expect(shown(value('[1]', { listed: true }), value('[]', { listed: true }))).toContain('print(list(cart.total()))')
})

test('an issue has the program and both results, and never the name of a failing test', () => {
  const texts = fc.string({ minLength: 1, maxLength: 80 })
  const answer = fc.oneof(
    texts.map((text) => value(text)),
    texts.map((text) => error(`ValueError: ${text}`)),
  )
  const name = fc.stringMatching(/^test_[a-z]{3,10}$/).map((own) => `tests/test_shop.py::ShopTest::${own}[a-1]`)
  fc.assert(
    fc.property(
      answer,
      answer,
      fc.array(name, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      (good, bad, failing, seed) => {
        const example: Example = { language: 'python', program: program('shop.total(1)'), expected: good, actual: bad }
        const facts = {
          ...{ name: 'shop', workdir: '/app', failToPass: failing, symptoms: [], commands: ['pytest'] },
          ...{ examples: [example], areTestsVisible: false },
        }
        const issue = renderIssue(facts, makeRandom(seed, 'x'))!
        const instruction = renderInstruction(issue, facts)
        expect(issue).toContain('shop.total(1)')
        expect(issue).toContain(good.text)
        expect(issue).toContain(bad.text)
        for (const one of failing) expect(instruction).not.toContain(plainTestName(one))
        expect(instruction).not.toMatch(/test_|failing/)
      },
    ),
  )
})

test('an issue that names a failing test gives it away', () => {
  const tests = ['tests/test_a.py::TestA::test_reads[1-2]', 'reads the last line']
  expect(findLeak('see test_reads', {}, { files: {} }, tests)).toMatch(/names the test test_reads/)
  expect(findLeak('it reads  the last line', {}, { files: {} }, tests)).toMatch(/names the test/)
  expect(findLeak('it reads a line', {}, { files: {} }, tests)).toBeNull()
})

test('without anything to show there is no issue', () => {
  const facts = { name: 'x', workdir: '/app', failToPass: ['a'], symptoms: [], examples: [], commands: [] }
  expect(renderIssue({ ...facts, areTestsVisible: false }, makeRandom(1, 'x'))).toBeNull()
})

test('the title names what was called of the project, not what is around it', () => {
  const titled = (given: Program) =>
    renderIssue(
      {
        ...{ name: 'x', workdir: '/app', failToPass: ['a'], symptoms: [], commands: [], areTestsVisible: false },
        examples: [{ language: 'python', program: given, expected: value('2'), actual: error('TypeError: no') }],
      },
      makeRandom(1, 'x'),
    )!.split('\n')[0]
  const imports = ['from datetime import date', 'from isodate import Duration']
  const setup = ['month = Duration(months=1)', 'start = date(2000, 3, 30)', 'found = set()', 'found.add(month)']
  expect(titled({ imports, setup, expr: 'start + month' })).toMatch(/`Duration`/)
  expect(titled({ imports, setup, expr: 'len(found)' })).toMatch(/`Duration`/)
  expect(titled({ imports, setup, expr: 'str(month.totimedelta(start))' })).toMatch(/`totimedelta`/)
  const decorated = { imports: ['from shop import memoize'], setup: ['@memoize\ndef inc(x):\n    return x + 1'] }
  expect(titled({ ...decorated, expr: 'inc(0)' })).toMatch(/`memoize`/)
  const plain = { imports: ['from shop import price'], setup: ['def twice(x):\n    return price(x) * 2'] }
  expect(titled({ ...plain, expr: 'twice(0)' })).toMatch(/`price`/)
  const called = { imports: ['from shop import Rule'], setup: ['s = Rule([1])', 's([2])'] }
  expect(titled({ ...called, expr: 's([0])' })).toMatch(/`Rule`/)
  expect(titled({ imports, setup: [], expr: 'Duration(years=max(1, 2)).totimedelta(start)' })).toMatch(/`totimedelta`/)
  expect(titled({ imports, setup: [], expr: 'str(Duration(1)).splitlines()' })).toMatch(/`Duration`/)
  expect(titled({ imports: ['import shop'], setup: ["told = shop.format('a')"], expr: 'told' })).toMatch(/`format`/)
  const popped = ['found = Duration(1)', 'found.drop(2)']
  expect(titled({ imports, setup: popped, expr: 'list(found[-3:])' })).toMatch(/`Duration`/)
  expect(titled({ imports, setup: popped, expr: 'found' })).toMatch(/`drop`/)
  const derived = ['class Own(Duration):\n    def told(self):\n        return 1', 'own = Own()']
  expect(titled({ imports, setup: derived, expr: 'list(own.a.b)' })).toMatch(/`Duration`/)
  expect(titled({ imports, setup: derived, expr: 'own.told()' })).toMatch(/`Duration`/)
  expect(titled({ imports, setup: derived, expr: 'Own().told()' })).toMatch(/`Duration`/)
  const mixed = ['class Own(Duration, dict):\n    pass', 'own = Own()']
  expect(titled({ imports, setup: mixed, expr: 'len(own)' })).toMatch(/`Duration`/)
  const visitor = ['class Seen:\n    def visit(self, x):\n        return x', 'tree = parse(1)']
  const walks = { imports: ['from shop import parse, visit'], setup: visitor }
  expect(titled({ ...walks, expr: 'visit(Seen())' })).toMatch(/`visit`/)
  expect(titled({ ...walks, expr: 'tree.visit(Seen())' })).toMatch(/`visit`/)
  expect(titled({ ...walks, expr: 'Seen().visit(tree)' })).toMatch(/`parse`/)
  expect(titled({ ...walks, setup: visitor.toReversed(), expr: 'len(tree)' })).toMatch(/`parse`/)
  const path = { imports: ['import os.path', 'from shop import price'], setup: ['told = price(1)'] }
  expect(titled({ ...path, expr: "os.path.join('a', told)" })).toMatch(/`price`/)
  expect(titled({ imports, setup: [], expr: "Duration(')(').totimedelta(x)['a'].total()" })).toMatch(/`total`/)
})
