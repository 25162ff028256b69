import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { needs } from '../../../../test/needs.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import { type AnswerCheck, compareAwk } from './answer-check.ts'
import rowTemplate, { takeApart } from './index.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: object) => rowTemplate.make(rowTemplate.options.parse(options), context)
const row = (id: string, fields: Record<string, unknown>): RawRow => ({ id, source: 'test', fields })

const quiz = { instruction: 'Tell me: {{q}}', answer: { field: 'a', pattern: '####\\s*(.+)$', check: 'number' } }
const rows = [
  row('1', { q: 'How many days?', a: 'first #### 6\nthen #### 7' }),
  row('2', { q: 'Without an answer?', a: 'I do not know' }),
  row('3', { a: '#### 1' }),
  row('4', { q: 'Another sort of answer?', a: '#### seven' }),
]

stageLaws('makers/row-template', { make: async () => make(quiz) as never, rows })

test('a row becomes a task that says how to hand in, with the answer known to the tests alone', async () => {
  const [task, ...others] = await runStage(make(quiz) as never, rows)
  const draft = task as TaskDraft
  expect(draft.instruction).toBe(
    'Tell me: How many days?\n\nWrite the answer to `/app/answer.txt`, as a plain number and nothing else.\n',
  )
  expect(draft).toMatchObject({ name: 'test-1', lineage: { pipeline: 'test', rowId: '1' } })
  expect(draft.files['tests/expected.txt']).toEqual({ data: '7\n' })
  expect(Object.keys(draft.files).filter((path) => path.startsWith('environment/'))).toEqual(['environment/Dockerfile'])
  expect(others).toMatchObject([
    { drop: 'no-checkable-answer', id: '2' },
    { drop: 'missing-field', id: '3', detail: expect.stringContaining('q') },
    { drop: 'no-checkable-answer', id: '4' },
  ])
})

test('a template without anything to check by drops every row', async () => {
  expect(await runStage(make({ instruction: 'Say {{q}}, please' }) as never, rows.slice(0, 1))).toMatchObject([
    { drop: 'no-check' },
  ])
})

test('several answers count, and files of the row lie in the environment', async () => {
  const options = { instruction: 'Read it: {{q}}', answer: { field: 'as' }, files: { 'paper.md': '{{text}}' } }
  const [task] = await runStage(make(options) as never, [
    row('1', { q: 'which?', as: ['Oak', 'the oak'], text: 'It is oak.' }),
  ])
  const { files } = task as TaskDraft
  expect(files['tests/expected.txt']).toEqual({ data: 'Oak\nthe oak\n' })
  expect(files['environment/paper.md']).toEqual({ data: 'It is oak.' })
  expect(files['environment/Dockerfile']?.data).toContain('COPY paper.md /app/paper.md')
})

describe('the comparison', () => {
  const cases: [AnswerCheck, string, string, boolean][] = [
    ['number', '2,400', '2400', true],
    ['number', '2400', '$2,400.00', true],
    ['number', '0.5', '1/2', true],
    ['number', '42', '42.', true],
    ['number', '42', 'The answer is 42', false],
    ['number', '42', '43', false],
    ['number', '42', '', false],
    ['number', '1000000000', '1000000001', false],
    ['number', '3.14159265', '3.1415927', true],
    ['number', '0', 'x', false],
    ['text', 'the Oak treebank', 'Oak Treebank.', true],
    ['text', 'yes', 'no', false],
    ['text', 'a', '', false],
    ['exact', 'a  b', 'a  b\n', true],
    ['exact', 'a  b', 'a b', false],
    ['choice', 'B', '(b)', true],
    ['choice', 'B', 'A or B', false],
  ]
  test.each(cases)('%s: %j and %j', async (check, expected, answer, isSame) => {
    const dir = await makeTempDir()
    const write = (name: string, text: string) => writeFileSync(join(dir, name), text)
    write('compare.awk', compareAwk)
    write('expected', `not this one\n${expected}\n`)
    write('answer', answer)
    const { status, stderr } = spawnSync('awk', ['-v', `mode=${check}`, '-f', 'compare.awk', 'expected', 'answer'], {
      cwd: dir,
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(status === 0).toBe(isSame)
  })
})

test('a program is taken apart into what it defines and the lines that use it', () => {
  const code =
    'import os\n\ndef f(x):\n    print("inside")\n    return x\n\nprint(f(1))\nassert f(\n    2\n) == 2\nLIMIT = 3\n'
  expect(takeApart(code)).toEqual({
    definitions: 'import os\n\ndef f(x):\n    print("inside")\n    return x\n\nLIMIT = 3\n',
    driver: 'print(f(1))\nassert f(\n    2\n) == 2\n',
    names: ['f'],
  })
  expect(takeApart('print("hello")')).toBeNull()
  expect(takeApart('def f():\n    return 1\n')).toBeNull()
  expect(takeApart('def f():\n    return 1\n\nprint("nothing of it")\n')).toBeNull()
})

describe('every dataset of instruct-rows', () => {
  test('has a fixture', () => {
    const names = readFileSync('data/instruct-rows/datasets.ts', 'utf8')
      .match(/^ {2}'([\w-]+)',$/gm)
      ?.map((line) => line.trim().slice(1, -2))
    expect(
      readdirSync('data/instruct-rows/fixtures')
        .map((name) => name.replace('.jsonl', ''))
        .sort(),
    ).toEqual(names)
  })
})

test('tests of code pass for other code that does the same, and for none that does not', needs('python3'), async () => {
  const options = { instruction: 'Write {{q}} for me', code: { field: 'a' } }
  const answer = '```python\ndef twice(x):\n    return x * 2\n\nprint(twice(4))\n```'
  const [task] = await runStage(make(options) as never, [row('1', { q: 'twice', a: answer })])
  const { files, instruction } = task as TaskDraft
  expect(instruction).toContain('It has to define `twice`')
  expect(Object.keys(files).filter((path) => path.startsWith('environment/'))).toEqual(['environment/Dockerfile'])
  const dir = await makeTempDir()
  mkdirSync(join(dir, 'logs'))
  for (const name of ['reference.py', 'driver.py', 'test.sh']) {
    const text = String(files[`tests/${name}`]?.data)
    const here = text
      .replaceAll('/tests/', `${dir}/`)
      .replaceAll('/logs/verifier', `${dir}/logs`)
      .replaceAll('/app/', `${dir}/`)
    writeFileSync(join(dir, name), here)
  }
  const score = (code: string) => {
    writeFileSync(join(dir, 'solution.py'), code)
    spawnSync('sh', [join(dir, 'test.sh')])
    return readFileSync(join(dir, 'logs/reward.txt'), 'utf8').trim()
  }
  expect(score('def twice(x):\n    return x + x\n')).toBe('1')
  expect(score('def twice(x):\n    return 8\nimport sys\nsys.exit(0)\n')).toBe('0')
  expect(score('def twice(x):\n    return 9\n')).toBe('0')
  expect(score('')).toBe('0')
})
