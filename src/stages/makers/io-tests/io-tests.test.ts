import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { needs } from '../../../../test/needs.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import ioTests, { acceptedError } from './index.ts'
import { runCasesPy } from './run-cases.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: object = {}) => ioTests.make(ioTests.options.parse(options), context)
const row = (id: string, fields: Record<string, unknown>): RawRow => ({ id, source: 'test', fields })

const statement = 'Read two whole numbers and print their sum.'
const sums = {
  statement,
  examples: [{ input: '1 2\n', output: '3\n' }],
  tests: [
    { input: '1 2\n', output: '3\n' },
    { input: '5 7\n', output: '12\n' },
  ],
  solutions: { python: 'print(sum(map(int, input().split())))' },
}
const rows = [
  row('1', sums),
  row('2', { ...sums, solutions: { cpp: 'int main() {}' } }),
  row('3', { ...sums, tests: sums.tests.slice(0, 1) }),
  row('4', { ...sums, tests: [{ input: '0 3\n', output: '3\n' }] }),
  row('same', {
    ...sums,
    tests: [
      { input: '0 8\n', output: '8\n' },
      { input: '1 7\n', output: '8\n' },
    ],
  }),
  row('5', { statement }),
  row('6', { problem: 'it is interactive' }),
]

stageLaws('makers/io-tests', { make: async () => make() as never, rows })

test.each([
  ["correct, if the absolute or relative error doesn't exceed 10 - 4.", 1e-4],
  ['Your answer must not differ from the exact one by more than 10^{-9}', 1e-9],
  ['with an error of at most 0.01', 1e-2],
  ['Print the number of errors', undefined],
])('an accepted error is read from the statement: %s', (statement, error) => {
  expect(acceptedError(statement)).toBe(error)
})

test('hidden cases and the solution are known to the tests and the oracle alone', async () => {
  const [task, ...others] = await runStage(make() as never, rows)
  const { files, instruction } = task as TaskDraft
  expect(instruction).toContain('`/app/solution.py`')
  expect(Object.keys(files).filter((path) => path.startsWith('environment/'))).toEqual(['environment/Dockerfile'])
  expect(JSON.parse(String(files['tests/cases.json']?.data)).cases).toEqual(sums.tests)
  expect(others).toMatchObject([
    { drop: 'no-reference-solution', id: '2' },
    { drop: 'too-few-tests', id: '3' },
    { drop: 'too-few-tests', id: '4', detail: expect.stringContaining('differ') },
    { drop: 'too-few-tests', id: 'same', detail: expect.stringContaining('not shown') },
    { drop: 'missing-field', id: '5' },
    { drop: 'no-checkable-answer', id: '6', detail: 'it is interactive' },
  ])
})

test.each([
  [2, [8, 8, 8, 9, 7], [0, 3]],
  [1, [3, 3, 9], [2]],
  [1, [9, 3, 8], [0]],
  [3, [8, 9, 7, 6], [0, 1, 2]],
])('of %i hidden cases, one is a later one where all would give the same: %j', async (maxTests, outputs, chosen) => {
  const tests = outputs.map((output, at) => ({ input: `${at} ${output - at}\n`, output: `${output}\n` }))
  const [task] = await runStage(make({ maxTests }) as never, [row('1', { ...sums, tests })])
  const { cases } = JSON.parse(String((task as TaskDraft).files['tests/cases.json']?.data))
  expect(cases).toEqual([...sums.examples, ...chosen.map((at) => tests[at])])
})

test.each([
  ['If there are several answers, print any of them.', 'several-answers'],
  ['Print one integer — any positive integer x that fits.', 'several-answers'],
  ['You may output roads in any order.', 'several-answers'],
  ['If there are multiple possible answers, any will be accepted.', 'several-answers'],
  ['This is an interactive problem. Print a query each time.', 'interactive'],
  ['The total energy is equal to <image> units.', 'lost-formula'],
  ['It is defined as:\n\n<image>\n\nPrint it.', 'lost-formula'],
  ['Print the number.\n\n<image>\n\nThe picture shows it.\n\nNote\n\nHere x = <image>.', null],
  ['The board looks like this:\n\n<image>\n\nPrint the number.', null],
  ['Input\n\nA number n ≤ <image>.\n\nOutput\n\nPrint n.', null],
  ['If there are several options for x, output the smallest one.', null],
  ['You can print each letter in any case (upper or lower).', null],
  ['If she cannot get there in any amount of time, print -1.', null],
  ['Input\n\nThe edges are printed in any order.\n\nOutput\n\nPrint the number of trees.', null],
])('%s: %s', async (words, drop) => {
  const [made] = await runStage(make() as never, [row('1', { ...sums, statement: `${statement}\n\n${words}` })])
  expect((made as { drop?: string }).drop ?? null).toBe(drop)
  const checked = { ...sums, statement: `${statement} ${words}`, checker: 'print(1)' }
  if (drop === 'several-answers')
    expect((await runStage(make() as never, [row('1', checked)]))[0]).toHaveProperty('files')
})

test.each([
  [['YES', 'NO', 'Yes\nNo'], true],
  [['YES', 'NO', 'YES 1'], false],
  [['Alice', 'Bob', 'Bob'], false],
])('answers %j are compared without looking at capital letters: %s', async (outputs, anyCase) => {
  const tests = outputs.map((output, at) => ({ input: `${at} ${at}\n`, output }))
  const [task] = await runStage(make() as never, [row('1', { ...sums, examples: [], tests })])
  const plan = JSON.parse(String((task as TaskDraft).files['tests/cases.json']?.data))
  expect(plan.anyCase).toBe(anyCase)
})

test.each([
  ['blank lines', `${statement}${'\n'.repeat(300_000)}End.`],
  ['headings of the input', `${statement}\n${'Input\n'.repeat(100_000)}End.`],
  ['blank lines below the input', `${statement}\nInput\n${'\n'.repeat(5000)}End.`],
])('a statement with very many %s is read', async (_, long) => {
  const made = await runStage(make({ maxChars: 1_000_000 }) as never, [row('long', { ...sums, statement: long })])
  expect(made).toMatchObject([{ instruction: expect.stringContaining('End.') }])
})

test('the usual modulus keeps its power', async () => {
  const given = { ...sums, statement: `${statement} Print it modulo 109 + 7, for up to 109 numbers.` }
  const [task] = await runStage(make() as never, [row('1', given)])
  expect((task as TaskDraft).instruction).toContain('modulo 10^9 + 7, for up to 109 numbers')
})

describe('the runner', needs('python3'), () => {
  interface Given {
    cases?: object[]
    checker?: string
    seconds?: number
    anyCase?: boolean
    error?: number
    /** What the tests' log must contain. */
    says?: string
  }
  async function passes(code: string | null, more: Given = {}) {
    const dir = await makeTempDir()
    mkdirSync(join(dir, 'tests'))
    const program = join(dir, 'solution.py')
    const plan = {
      program,
      build: [],
      run: ['python3', program],
      seconds: more.seconds ?? 20,
      cases: more.cases ?? sums.tests,
      anyCase: more.anyCase ?? false,
      error: more.error,
    }
    writeFileSync(join(dir, 'tests/run_cases.py'), runCasesPy)
    writeFileSync(join(dir, 'tests/cases.json'), JSON.stringify(plan))
    if (more.checker !== undefined) writeFileSync(join(dir, 'tests/checker.py'), more.checker)
    if (code !== null) writeFileSync(program, code)
    const { status, stdout, stderr } = spawnSync('python3', ['-I', join(dir, 'tests/run_cases.py')], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    if (more.says !== undefined) expect(stdout).toContain(more.says)
    expect(existsSync(join(dir, 'tests/cases.json'))).toBe(false)
    return status === 0
  }

  test.each([
    ['a right program', 'a, b = input().split()\nprint(int(a) + int(b), "  ")', true],
    ['a wrong one', 'print(3)', false],
    ['one that prints more', 'print(sum(map(int, input().split())), 0)', false],
    ['one that fails after it printed', 'print(sum(map(int, input().split())))\nraise SystemExit(1)', false],
    [
      'one that looks for the cases',
      'import os, json\nd = os.path.dirname(__file__)\nprint(json.load(open(d + "/tests/cases.json"))["cases"][0]["output"])',
      false,
    ],
    [
      'one that asks for the size of its input',
      'import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split())))',
      true,
    ],
    ['none', null, false],
  ])('%s', async (_, code, right) => {
    expect(await passes(code)).toBe(right)
  })

  test('numbers with a point may differ a little, others not at all', async () => {
    const one = (output: string) => ({ cases: [{ input: '', output }] })
    expect(await passes('print(0.33333333333)', one('0.333333333'))).toBe(true)
    expect(await passes('print(0.3334)', one('0.333333333'))).toBe(false)
    expect(await passes('print(1000000001)', one('1000000000'))).toBe(false)
    const loose = (output: string) => ({ ...one(output), error: 1e-3 })
    expect(await passes('print(0.3334)', loose('0.333333333'))).toBe(true)
    expect(await passes('print(3.0)', loose('3'))).toBe(true)
    expect(await passes('print(1001)', loose('1000'))).toBe(false)
  })

  test('capital letters count as small ones only where the statement says so', async () => {
    const cases = [{ input: '', output: 'YES' }]
    expect(await passes('print("Yes")', { cases, anyCase: true })).toBe(true)
    expect(await passes('print("Yes")', { cases })).toBe(false)
  })

  test('where several outputs are right, the problem’s own checker decides', async () => {
    const checker =
      'import sys\nwanted, given = (sorted(open(p).read().split()) for p in sys.argv[2:4])\nprint(1 if wanted == given else 0)\n'
    expect(await passes('print("b a")', { checker, cases: [{ input: '', output: 'a b' }] })).toBe(true)
    expect(await passes('print("b c")', { checker, cases: [{ input: '', output: 'a b' }] })).toBe(false)
  })

  test('a program that takes too long is wrong', async () => {
    expect(
      await passes('import time\nprint(3, flush=True)\ntime.sleep(600)', {
        seconds: 2,
        cases: sums.tests.slice(0, 1),
        says: 'case 1 takes more than 2 s',
      }),
    ).toBe(false)
  })
})
