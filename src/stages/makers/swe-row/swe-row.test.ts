import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { needs } from '../../../../test/needs.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import sweRow from './index.ts'
import { parseSweRow } from './parse-row.ts'
import { unclearIssue } from './unclear-issue.ts'
import { untoldNames } from './untold-names.ts'

const local = { dir: 'data/swegym/fixtures', testCommands: ['python3 -m unittest -v'], testFormat: 'unittest' }
const make = (options: object) =>
  sweRow.make(sweRow.options.parse({ testCommands: ['pytest -rA {{testFiles}}'], ...options }), {
    env: {},
    stateDir: '/nonexistent',
  })
const rowsOf = (pipeline: string, id: string): RawRow[] =>
  readFileSync(`data/${pipeline}/fixture.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map((fields) => ({ id: fields[id], source: pipeline, fields }))
const [gym] = rowsOf('swegym', 'instance_id')
const [smith] = rowsOf('swesmith', 'instance_id')
const [commit] = rowsOf('r2egym', 'commit_hash')

const draftOf = async (options: object, row: RawRow | undefined): Promise<TaskDraft> => {
  const [draft] = await runStage(make(options) as never, [row])
  expect(draft).not.toHaveProperty('drop')
  return draft as TaskDraft
}
const textOf = (draft: TaskDraft, path: string) => String(draft.files[path]?.data)
/** Everything in a task that the agent sees. */
const seen = ({ files, instruction }: TaskDraft) =>
  instruction +
  Object.entries(files)
    .filter(([path]) => path.startsWith('environment/'))
    .map(([, { data }]) => String(data))
    .join('\n')

stageLaws('makers/swe-row', {
  make: async () => make({ dialect: 'swe-bench', repositories: local }) as never,
  rows: [...rowsOf('swegym', 'instance_id'), { id: 'bad', source: 's', fields: {} }],
})

test('the fix is in the solution alone, the test patch in the tests alone', async () => {
  const draft = await draftOf({ dialect: 'swe-bench', repositories: local }, gym)
  expect(textOf(draft, 'solution/fix.patch')).toContain('+        if merged and low <= merged[-1][1] + 1:')
  expect(textOf(draft, 'solution/files/intervals/__init__.py')).toContain('merged[-1][1] + 1:')
  expect(textOf(draft, 'tests/files/tests/test_intervals.py')).toContain('test_joins_neighbours')
  expect(seen(draft)).not.toContain('merged[-1][1] + 1:')
  expect(seen(draft)).not.toContain('test_joins_neighbours')
  const tests = Object.entries(draft.files).filter(([path]) => path.startsWith('tests/'))
  expect(tests.some(([, { data }]) => String(data).includes('merged[-1][1] + 1:'))).toBe(false)
})

test('a patch of SWE-smith is the bug: the environment has it, and the solution takes it back', async () => {
  const repositories = { ...local, dir: 'data/swesmith/fixtures' }
  const draft = await draftOf({ dialect: 'swe-smith', repositories }, smith)
  expect(textOf(draft, 'environment/repo/ledger/parse.py')).not.toContain('replace(",", "")')
  expect(textOf(draft, 'solution/files/ledger/parse.py')).toBe(
    readFileSync('data/swesmith/fixtures/acme__tiny-ledger/ledger/parse.py', 'utf8'),
  )
})

test('rows without a copy of their repository get the image, without history and results', async () => {
  const fields = { ...gym?.fields, FAIL_TO_PASS: '["tests/test_a.py::test_x[a b]"]', PASS_TO_PASS: '[]' }
  const draft = await draftOf({ dialect: 'swe-bench', image: 'org/eval.{{id}}' }, { ...(gym as RawRow), fields })
  const dockerfile = textOf(draft, 'environment/Dockerfile')
  expect(dockerfile).toContain('FROM org/eval.acme_s_intervals-101\n')
  expect(dockerfile).toContain('rm -rf .git')
  expect(textOf(draft, 'tests/run-tests.sh')).toContain("run 'pytest -rA tests/test_a.py'")
  expect(textOf(draft, 'tests/test.sh')).toContain('apply /tests/test.patch')
  expect(textOf(draft, 'solution/solve.sh')).toMatch(/git -C \/testbed apply "/)
  expect(seen(draft)).not.toContain('test_joins_neighbours')
  const smithDraft = await draftOf(
    { dialect: 'swe-smith', image: 'org/x', checkout: '{{id}}~1' },
    { ...(smith as RawRow), fields: { ...smith?.fields, image_name: 'org/of-the-row' } },
  )
  expect(textOf(smithDraft, 'environment/Dockerfile')).toContain('FROM org/of-the-row\n')
  expect(textOf(smithDraft, 'environment/Dockerfile')).toContain(
    "git checkout -q 'acme__tiny-ledger.a1b2c3d4.func_pm_1~1'",
  )
  expect(textOf(smithDraft, 'solution/solve.sh')).toContain('apply --reverse')
})

test('a commit of R2E-Gym brings its tests, and every test that passed has to pass', async () => {
  const draft = await draftOf({ dialect: 'r2e-gym', repositories: { ...local, dir: 'data/r2egym/fixtures' } }, commit)
  expect(textOf(draft, 'tests/pass-to-pass.txt').trim().split('\n').length).toBe(2)
  expect(Object.keys(draft.files)).toContain('tests/files/r2e_tests/test_1.py')
  expect(seen(draft)).not.toContain('strip("-")')
})

test.each([
  ['bad-row', { patch: '' }],
  ['bad-row', { patch: 'no diff' }],
  ['bad-row', { FAIL_TO_PASS: 'tests' }],
  ['no-tests', { FAIL_TO_PASS: [], PASS_TO_PASS: [] }],
  ['bad-patch', { patch: '--- a/intervals/__init__.py\n+++ b/intervals/__init__.py\n@@ -1 +1 @@\n-nothing\n+else\n' }],
  ['bad-row', { test_patch: '--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n' }],
  ['no-environment', { repo: 'acme/elsewhere' }],
])('%s: %j', async (drop, wrong) => {
  const row = { ...(gym as RawRow), fields: { ...gym?.fields, ...wrong } }
  const stage = make({ dialect: 'swe-bench', repositories: local })
  expect(await runStage(stage as never, [row])).toMatchObject([{ drop, id: gym?.id }])
})

test('the runner follows from how a row names its tests', async () => {
  const patch = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`
  const otherNames = {
    unittest: { testCommands: ['runtests.py {{testModules}}'], testFormat: 'unittest-lines' },
    bare: { testCommands: ['bin/test {{testFiles}}'], testFormat: 'name-ok' },
  }
  const options = { dialect: 'swe-bench', image: 'some/image', otherNames }
  const row = (names: string[], test: string): RawRow => ({
    id: 'x',
    source: 's',
    fields: {
      ...{ instance_id: 'x', repo: 'o/n', problem_statement: 'Broken.', patch: patch('src/a.py') },
      ...{ test_patch: patch(test), FAIL_TO_PASS: names, PASS_TO_PASS: [] },
    },
  })
  const runOf = async (names: string[], test: string) =>
    textOf(await draftOf(options, row(names, test)), 'tests/run-tests.sh')
  const django = await runOf(['test_a (auth.tests.A)', 'A description.'], 'tests/auth_tests/test_a.py')
  expect(django).toContain('runtests.py auth_tests.test_a')
  expect(django).toContain('format=unittest-lines')
  expect(await runOf(['test_point'], 'sympy/tests/test_point.py')).toContain('bin/test sympy/tests/test_point.py')
  expect(await runOf(['t/test_a.py::test_a[x]'], 't/test_a.py')).toContain('pytest -rA t/test_a.py')
  expect(await runStage(make(options) as never, [row(['t/test_a.py::test_a', '[100%]'], 't/test_a.py')])).toMatchObject(
    [{ drop: 'unmatched-test-names' }],
  )
})

const patchOf = (path: string, ...lines: string[]) =>
  `--- a/${path}\n+++ b/${path}\n@@ -1,1 +1,${lines.length + 1} @@\n a = 1\n${lines.map((line) => `+${line}\n`).join('')}`

test.each([
  ['a constant', ['IS_PYPY = False'], ['from x import IS_PYPY'], ['IS_PYPY']],
  ['an argument', ['def marks(', '    consider_mro: bool = True,'], ['other(C, consider_mro=False)'], ['consider_mro']],
  ['a function', ['def infer_node(x):'], ['assert infer_node(1)'], ['infer_node']],
  ['a name of its own tests', ['def helper(x):'], ['def helper(y):', 'helper(1)'], []],
  ['a name in the issue', ['def load_all(x):'], ['assert load_all(1)'], []],
])('%s that tests use and only the fix brings in cannot be known', (_, fix, tests, names) => {
  const row = {
    instance_id: 'a__b-1',
    repo: 'a/b',
    problem_statement: 'Loading fails. There should be load_all.',
    patch: patchOf('x.py', ...fix),
    test_patch: patchOf('tests/test_x.py', ...tests),
    FAIL_TO_PASS: ['tests/test_x.py::test_a'],
    PASS_TO_PASS: [],
  }
  const parsed = parseSweRow({ id: '1', source: 's', fields: row }, 'swe-bench')
  if (typeof parsed === 'string') throw new Error(parsed)
  expect(untoldNames(parsed)).toEqual(names)
})

test('a commit of R2E-Gym: the issue without its marks, names of tests without colors, a new file as one that is new', async () => {
  const diff = (path: string, before: string, after: string, more: object = {}) => ({
    ...{ header: { file: { path } }, old_file_content: before, new_file_content: after },
    ...more,
  })
  const fields = {
    ...{ repo_name: 'slugs', commit_hash: 'abc', docker_image: 'org/x' },
    problem_statement: 'I think this shows it.\n[ISSUE]\nDashes stay.\n[/ISSUE]\nDone.',
    expected_output_json: JSON.stringify({ '\u001b[1mTestA.test_b\u001b[0m': 'PASSED', '': 'PASSED', x: 'FAILED' }),
    parsed_commit_content: JSON.stringify({
      old_commit_hash: 'abc^',
      file_diffs: [
        diff('slugs/a.py', 'a = 1\n', 'a = 2\n'),
        diff('slugs/new.py', '', 'b = 1\n', { minus_file: { path: '/dev/null' } }),
        diff('slugs/old.py', 'c = 1\n', '', { plus_file: { path: '/dev/null' } }),
        diff('slugs/test/a_test.py', 'd = 1\n', 'd = 2\n'),
        diff('Tests/helper.py', 'e = 1\n', 'e = 2\n'),
        diff('logo.png', 'f\n', 'g\n', { is_binary_file: true }),
      ],
    }),
    execution_result_content: JSON.stringify({ test_file_names: ['test_1.py'], test_file_codes: ['assert True\n'] }),
  }
  const row = parseSweRow({ id: '1', source: 's', fields }, 'r2e-gym')
  if (typeof row === 'string') throw new Error(row)
  expect(row).toMatchObject({ statement: 'Dashes stay.', passToPass: ['TestA.test_b'], baseCommit: 'abc^' })
  expect(row.fix.files.map(({ oldPath, newPath }) => [oldPath, newPath])).toEqual([
    ['slugs/a.py', 'slugs/a.py'],
    [null, 'slugs/new.py'],
    ['slugs/old.py', null],
  ])
  const draft = await draftOf({ dialect: 'r2e-gym' }, { id: '1', source: 's', fields })
  expect(draft.instruction).toMatch(/^Dashes stay\.\n/)
  // Older images hold the whole commit next to the repository.
  expect(textOf(draft, 'environment/Dockerfile')).toMatch(/rm -rf .*\bparsed_commit\.json\b/)
})

test('a name that only the commit brings in is looked for in whole test files, too', () => {
  const commitOf = (statement: string) => {
    const fields = {
      ...{ repo_name: 'slugs', commit_hash: 'abc', problem_statement: statement },
      expected_output_json: '{"test_a":"PASSED"}',
      parsed_commit_content: {
        file_diffs: [
          {
            header: { file: { path: 'a.py' } },
            old_file_content: 'x = 1\n',
            new_file_content: 'def unslug(t):\n    ...\n',
          },
        ],
      },
      execution_result_content: {
        test_file_names: ['test_1.py'],
        test_file_codes: ['from a import unslug\ndef test_a():\n    unslug("b")\n'],
      },
    }
    const row = parseSweRow({ id: '1', source: 's', fields }, 'r2e-gym')
    if (typeof row === 'string') throw new Error(row)
    return untoldNames(row)
  }
  expect(commitOf('There is no way back from a slug.')).toEqual(['unslug'])
  expect(commitOf('There should be `unslug`.')).toEqual([])
})

test('tests of a bug from SWE-smith: the agent does not get the failing ones, and in an image they are restored', async () => {
  const repositories = { ...local, dir: 'data/swesmith/fixtures' }
  const fields = { ...smith?.fields, FAIL_TO_PASS: ['tests.test_parse.AmountTest.test_reads_signs_and_thousands'] }
  const draft = await draftOf({ dialect: 'swe-smith', repositories }, { ...(smith as RawRow), fields })
  expect(Object.keys(draft.files)).toContain('environment/repo/tests/test_book.py')
  expect(Object.keys(draft.files)).not.toContain('environment/repo/tests/test_parse.py')
  expect(Object.keys(draft.files)).toContain('tests/files/tests/test_parse.py')
  const named = { ...fields, FAIL_TO_PASS: ['tests/test_a.py::test_b'], PASS_TO_PASS: [], image_name: 'org/x' }
  const inImage = await draftOf({ dialect: 'swe-smith' }, { ...(smith as RawRow), fields: named })
  expect(textOf(inImage, 'tests/test.sh')).toContain('git -C /testbed checkout -q task-base -- tests/test_a.py')
})

test('of a clone, the commit of the row is taken', needs('git'), async () => {
  const dir = await makeTempDir()
  const clone = join(dir, 'o__n')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', '-C', clone, ...args], {
      encoding: 'utf8',
    })
  mkdirSync(clone)
  git('init', '--quiet')
  writeFileSync(join(clone, 'a.py'), 'a = 1\n')
  git('add', '.')
  git('commit', '--quiet', '-m', 'one')
  const base = git('rev-parse', 'HEAD').trim()
  writeFileSync(join(clone, 'a.py'), 'a = 3\n')
  git('commit', '--quiet', '-a', '-m', 'two')
  const fields = {
    ...{ instance_id: 'o__n-1', repo: 'o/n', problem_statement: 'a is 1.', base_commit: base },
    ...{ patch: '--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n' },
    ...{ FAIL_TO_PASS: ['test_a.py::test'], PASS_TO_PASS: [] },
  }
  const repositories = { ...local, dir, setup: ['pip install it'] }
  const draft = await draftOf({ dialect: 'swe-bench', repositories }, { id: '1', source: 's', fields })
  expect(textOf(draft, 'environment/repo/a.py')).toBe('a = 1\n')
  expect(textOf(draft, 'environment/Dockerfile')).toContain('RUN pip install it\nWORKDIR')
})

const fixOf = `--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,2 +1,2 @@ def total(self):\n-    return 1\n+    return 2\n`
test.each([
  ['`total` of a `Cart` is 1.', null],
  ['Unexpected behavior of `main`. Please investigate.', 'neither an example nor two names'],
  ['Call `shop.total` with `<your_items_here>`.', 'never filled in'],
  ['```python\na += b\n```\nThis should raise an error.', 'names nothing of what is broken'],
])('an issue that a model wrote about a bug: %s', (problem_statement, reason) => {
  const fields = {
    ...{ instance_id: 'o__n.1', repo: 'o/n', problem_statement, patch: fixOf },
    ...{ FAIL_TO_PASS: ['test_a.py::test'], PASS_TO_PASS: [] },
  }
  const row = parseSweRow({ id: '1', source: 's', fields }, 'swe-smith')
  if (typeof row === 'string') throw new Error(row)
  if (reason === null) expect(unclearIssue(row)).toBeNull()
  else expect(unclearIssue(row)).toContain(reason)
  const human = parseSweRow({ id: '1', source: 's', fields }, 'swe-bench')
  expect(typeof human === 'string' ? human : unclearIssue(human)).toBeNull()
})
