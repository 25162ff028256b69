import { expect, test } from 'vitest'
import { changedLines, kindOf, looksLikeFix, spanOf } from './bugs.ts'

const file = 'class A {\n  int f(B b) {\n    return b.size();\n  }\n\n  int g() {\n    return 1;\n  }\n}\n'
const method = '  int f(B b) {\n    return b.size();\n  }\n'
const fixed = '  int f(B b) {\n    if (b == null) return 0;\n    return b.size();\n  }\n'

test('the fix is measured within the method that the bug is in', () => {
  expect(spanOf(method, file)).toEqual({ first: 2, last: 4 })
  expect(spanOf(method.replaceAll('\n', '\r\n'), file)).toEqual({ first: 2, last: 4 })
  expect(spanOf('  int h() {}\n', file)).toBeNull()
  expect(spanOf(method, `${file}${file}`)).toBeNull()
  expect(changedLines(method, fixed)).toEqual([2])
  expect(changedLines(method, method)).toEqual([])
})

test('names of the dataset become the kinds that are asked for', () => {
  expect(['NULLPTR_DEREFERENCE', 'DOTNET_RESOURCE_LEAK', 'PULSE_UNINITIALIZED_VALUE', 'DEADLOCK'].map(kindOf)).toEqual([
    'NULL_DEREFERENCE',
    'RESOURCE_LEAK',
    'UNINITIALIZED_VALUE',
    null,
  ])
})

test.each([
  ['NULL_DEREFERENCE', method, fixed, true],
  ['NULL_DEREFERENCE', method, method.replace('size', 'length'), false],
  ['NULL_DEREFERENCE', method, '  int other() {\n    return x == null ? 1 : 2;\n  }\n', false],
  ['RESOURCE_LEAK', 'void f() {\n  open();\n}', 'void f() {\n  try (S s = open()) {\n  }\n}', true],
  ['RESOURCE_LEAK', 'void f() {\n  begin();\n}', 'void f() {\n  open();\n}', false],
  ['THREAD_SAFETY_VIOLATION', 'int f() {\n  return n;\n}', 'synchronized int f() {\n  return n;\n}', true],
  ['WRONG_FORMAT_ARGUMENTS', 'f() { printf("%d", s) }', 'f() { printf("%s", s) }', true],
])('%s: a fix has what fixes such a bug', (kind, before, after, is) => {
  expect(looksLikeFix(kind, before, after)).toBe(is)
})
