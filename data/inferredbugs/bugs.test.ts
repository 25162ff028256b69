import { expect, test } from 'vitest'
import { acceptedLines, changedLines, kindOf, looksLikeFix, mayLeak, reportedName, spanOf } from './bugs.ts'
import pipeline from './generate.ts'

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
  expect(
    ['NULLPTR_DEREFERENCE', 'DOTNET_RESOURCE_LEAK', 'PULSE_UNINITIALIZED_VALUE', 'INTERFACE_NOT_THREAD_SAFE'].map(
      kindOf,
    ),
  ).toEqual(['NULL_DEREFERENCE', 'RESOURCE_LEAK', 'UNINITIALIZED_VALUE', null])
})

test.each([
  ['NULL_DEREFERENCE', method, fixed, true],
  ['NULL_DEREFERENCE', method, method.replace('size', 'length'), false],
  ['NULL_DEREFERENCE', method, '  int other() {\n    return x == null ? 1 : 2;\n  }\n', false],
  ['RESOURCE_LEAK', 'void f() {\n  open();\n}', 'void f() {\n  try (S s = open()) {\n  }\n}', true],
  ['RESOURCE_LEAK', 'void f() {\n  begin();\n}', 'void f() {\n  open();\n}', false],
  ['THREAD_SAFETY_VIOLATION', 'int f() {\n  return n;\n}', 'synchronized int f() {\n  return n;\n}', true],
  ['WRONG_FORMAT_ARGUMENTS', 'f() { printf("%d", s) }', 'f() { printf("%s", s) }', true],
  ['WRONG_FORMAT_ARGUMENTS', 'f() { printf("%,d us", t) }', 'f() { LOG.warn("%,d us", t) }', false],
])('%s: a fix has what fixes such a bug', (kind, before, after, is) => {
  expect(looksLikeFix(kind, before, after)).toBe(is)
})

test.each([
  ['object `order` last assigned on line 15 could be null and is dereferenced at line 16.', 'order'],
  ['object returned by `path.getObjectId()` could be null and is dereferenced at line 133.', 'getObjectId'],
  ['resource of type `a.B` acquired to `printer` by call to `new()` at line 82 is not released', 'printer'],
  ['Read/Write race. Non-private method `A.f` reads without synchronization from `this.a.A.count`.', 'count'],
  ['Leaked resource writer of type System.IO.StringWriter in method "f".', 'writer'],
  ['object `null` could be null and is dereferenced by call to `f(...)` at line 51.', null],
  ['Format string must be string literal.', null],
])('the name in a report: %s', (qualifier, name) => {
  expect(reportedName(qualifier)).toBe(name)
})

test('a null check fixes a report only if it checks what the report names', () => {
  const old = 'int f(A a, B b) {\n  return a.size() + b.size();\n}'
  const check = (name: string) => old.replace('  return', `  if (${name} == null) return 0;\n  return`)
  expect(looksLikeFix('NULL_DEREFERENCE', old, check('a'), 'a')).toBe(true)
  expect(looksLikeFix('NULL_DEREFERENCE', old, check('b'), 'a')).toBe(false)
  const assigned = 'int f(A a, B b) {\n  C c = a.load();\n  if (c == null) return 0;\n  return c.size();\n}'
  expect(looksLikeFix('NULL_DEREFERENCE', 'int f(A a, B b) {\n  return a.load().size();\n}', assigned, 'load')).toBe(
    true,
  )
})

test('the line where a leaked resource comes from is a correct answer, and so are similar lines of the method', () => {
  const text = 'void f() {\n  P p = P.parse(a);\n  use(p);\n  p = P.parse(b);\n  use(p);\n}'
  const qualifier = 'resource of type `x.P` acquired by call to `parse(...)` at line 13 is not released after line 14.'
  expect(acceptedLines({ line: 14, qualifier }, [15], { first: 10, last: 15 }, text)).toEqual([11, 13, 14, 15])
})

test('a method that also leaks something has two bugs', () => {
  expect(mayLeak('void f() {\n  Reader in = new FileReader(name);\n  order.size();\n}')).toBe(true)
  expect(mayLeak('void f() {\n  try (Reader in = new FileReader(name)) { order.size(); }\n}')).toBe(false)
})

const bug = {
  bug_type: 'NULL_DEREFERENCE',
  qualifier: 'object `b` could be null and is dereferenced at line 3.',
  file: 'src/A.java',
  line: 3,
  file_before: file,
  file_after: file.replace(method, fixed),
  method_before: method,
  method_after: fixed,
}
const make = (fields: object) => {
  if (typeof pipeline.make !== 'function') throw new Error('expected a function')
  const options = { ask: 'find', maxLines: 12, maxFileLines: 1000, passAt: 0.75 }
  return pipeline.make({ id: '1', source: 'inferredbugs', fields: { ...bug, ...fields } }, { options } as never)
}

test('the instruction names the method, and its example line is outside it', async () => {
  const made = await make({})
  expect(made).toMatchObject({ instruction: expect.stringContaining('in the method on lines 2 to 4.') })
  expect(made).toMatchObject({ instruction: expect.stringContaining('`NULL_DEREFERENCE 104`') })
})

test('leaves out a method in which most lines count as the bug: naming almost any line would pass', async () => {
  const lines = Array.from({ length: 6 }, (_, i) => `    b.step${i}();\n`).join('')
  const long = `  int f(B b) {\n${lines}    return b.size();\n  }\n`
  const rewritten = (upTo: number) =>
    long.replace(
      lines,
      lines.replace(/b\.step(\d)/g, (step, nth) => (Number(nth) < upTo ? `if (b != null) ${step}` : step)),
    )
  const tried = (upTo: number) => {
    const after = rewritten(upTo)
    const whole = { file_before: `class A {\n${long}}\n`, file_after: `class A {\n${after}}\n` }
    return make({ ...whole, method_before: long, method_after: after })
  }
  expect(await tried(6)).toMatchObject({ drop: 'guessable', detail: "6 of the method's 9 lines count" })
  expect(await tried(2)).toMatchObject({ instruction: expect.stringContaining('lines 2 to 10') })
})

test('a report about something that the method does not have is left out', async () => {
  const qualifier = 'pointer `request` last assigned on line 2 could be null and is dereferenced at line 3.'
  expect(await make({ qualifier })).toMatchObject({ drop: 'fix-elsewhere' })
})

test.each([
  ['build/Dockerfile', 'Dockerfile'],
  ['docker-compose.yaml', 'docker-compose.yaml'],
  ['src\\\\Äß it.java', '___it.java'],
])('the file of a row replaces none of the task, and its name is a plain one: %s', async (file, name) => {
  const made = await make({ file })
  if (!made || 'drop' in made || Array.isArray(made)) throw new Error('expected a task')
  const { files = {} } = made as { files?: Record<string, { data: unknown }> }
  expect(Object.keys(files).filter((path) => path.startsWith('environment/'))).toEqual([
    'environment/Dockerfile',
    `environment/files/${name}`,
  ])
  expect(files['environment/Dockerfile']?.data).toContain(`COPY files/${name} /app/${name}\n`)
})

test.each(['src/', 'src/..', 'a/answer.txt'])(
  'a file without a name, or with that of the answer, is left out: %s',
  async (file) => {
    expect(await make({ file })).toMatchObject({ drop: 'odd-name' })
  },
)
