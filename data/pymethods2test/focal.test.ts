import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../../test/needs.ts'
import { bodyOf, foreignImports, isTestCase, runner, takeBody, untoldWords } from './focal.ts'

test('the standard library is not a package, and neither are optional imports or words in a sentence', () => {
  const code = `from __future__ import annotations
import inspect, threading
from email.utils import parsedate
from shapes import area
"""Takes the best
from the list."""
try:
    import ujson as json
except ImportError:
    import json
`
  expect(foreignImports(code, 'shapes.py')).toEqual([])
  expect(foreignImports('import doctest\nimport fcntl, pty\nimport tomllib\n', 'shapes.py')).toEqual([])
  expect(foreignImports(`${code}import numpy as np\nfrom .tools import x\n`, 'shapes.py')).toEqual(['numpy', '.'])
})

test.each([
  ['documentation that is not indented', '    """\\\nSorts data,\nstably."""\n'],
  ['documentation with other marks', "    r'''Sorts\n\ndata: it's \"so\".'''\n"],
  ['documentation of a line', '    "Sorts data."\n'],
  ['none', ''],
])('the whole body is gone, the documentation stays: %s', (_, doc) => {
  const before = 'x = "it\'s" # a """ mark\n\n\ndef sort(data):\n'
  const body = '    secret = """\nnot the end\n"""\n    return sorted(data)\n'
  const after = '\n\ndef other():\n    return 1\n'
  expect(takeBody(`${before}${doc}${body}${after}`, 'sort')).toBe(
    `${before}${doc}    raise NotImplementedError\n${after}`,
  )
})

test('a base class for tests is not a test class itself', () => {
  const code = 'class Shared(object):\n    pass\n\nclass Bare:\n    pass\n\nclass Real(Shared, TestCase):\n    pass\n'
  expect(['Shared', 'Bare', 'Real', 'None'].map((name) => isTestCase(code, name))).toEqual([false, false, true, false])
})

test('words that occur only in the body and the test cannot be guessed', () => {
  const code = (body: string) =>
    `class Report:\n    def show(self):\n        "Says where values come from."\n${body}\n\n    def other(self):\n        return 'From files:'\n`
  const untold = (body: string, wanted: string) => {
    const [whole, testCode] = [
      code(body),
      `class T:\n    def test_it(self):\n        check(${wanted})\n\n    def test_other(self):\n        check('Defaults')\n`,
    ]
    const empty = takeBody(whole, 'show') ?? ''
    expect(bodyOf(whole, empty).join('\n').trim()).toBe(body.trim())
    return untoldWords(bodyOf(whole, empty), empty, { test: 'test_it', testCode })
  }
  const body = "        lines = ['From files:']\n        return 'Defaults: %s values\\n' % lines"
  expect(untold(body, "'Defaults: 3 values'")).toEqual(['Defaults:'])
  expect(untold(body, "'From files: x'")).toEqual([])
  expect(untold(body, 'show(3)')).toEqual([])
})

test('the test runs even if its file starts all tests on import', needs('python3'), () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-agent-focal-'))
  const code = 'import unittest\nclass Sums(unittest.TestCase):\n    def test_it(self): pass\nunittest.main()\n'
  writeFileSync(join(dir, 'test_sums.py'), code)
  const program = runner('test_sums.py', 'Sums.test_it').replace('/tests/code', dir)
  const said = execFileSync('python3', ['-I', '-B', '-c', program], { encoding: 'utf8', stdio: 'pipe' })
  expect(said).toBe('the test has passed\n')
})
