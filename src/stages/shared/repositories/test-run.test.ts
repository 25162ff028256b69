import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../../test/make-task.ts'
import { parseReport, reportAwk, type TestFormat } from './test-run.ts'

async function report(format: TestFormat, log: string) {
  const dir = await makeTempDir()
  writeFileSync(join(dir, 'report.awk'), reportAwk)
  const { stdout, stderr } = spawnSync('awk', ['-v', `format=${format}`, '-f', join(dir, 'report.awk')], {
    input: log,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return Object.fromEntries(parseReport(stdout))
}

test('the lines of node --test are read, tests within tests by their whole name', async () => {
  const log = `TAP version 13
# Subtest: group
    # Subtest: inner one
    ok 1 - inner one
      ---
      duration_ms: 1.2
      ...
    # Subtest: inner two
    not ok 2 - inner two
not ok 1 - group
# ok 7 - printed by a test, not a result
# Subtest: plain - with dash
ok 2 - plain - with dash
ok 3 - left out # SKIP
`
  expect(await report('tap', log)).toEqual({
    'group > inner one': 'pass',
    'group > inner two': 'fail',
    group: 'fail',
    'plain - with dash': 'pass',
  })
})

test('assertions of tape are named by their test', async () => {
  const log = `TAP version 13
# splits words
ok 1 should be equal
not ok 2 should be equal
  ---
    operator: equal
  ...
# joins words
ok 3 should be equal

1..3
# tests 3
`
  expect(await report('tap', log)).toEqual({
    'splits words > should be equal': 'fail',
    'joins words > should be equal': 'pass',
  })
})

test('the summary of pytest -rA is read', async () => {
  const log = `tests/test_a.py .F
=========================== short test summary info ============================
PASSED tests/test_a.py::test_one[a b]
FAILED tests/test_a.py::test_two - AssertionError: 1 - 2
ERROR tests/test_b.py
SKIPPED [1] tests/test_c.py:3: no
`
  expect(await report('pytest', log)).toEqual({
    'tests/test_a.py::test_one[a b]': 'pass',
    'tests/test_a.py::test_two': 'fail',
    'tests/test_b.py': 'fail',
  })
})

test('pytest is read without files, where tests are named so', async () => {
  expect(await report('pytest-names', 'PASSED r2e_tests/test_1.py::TestA::test_b\n')).toEqual({
    'TestA.test_b': 'pass',
  })
})

test('the lines of unittest -v are read, with docstrings and printed lines between', async () => {
  const log = `test_a (m.T.test_a) ... ok
test_b (m.T.test_b)
Says what it does ... FAIL
test_c (m.T.test_c) ... hello
ok
test_d (m.T.test_d) ... skipped 'no'
test_e (m.T) ... ERROR

======================================================================
FAIL: test_b (m.T.test_b)
`
  expect(await report('unittest', log)).toEqual({
    'm.T.test_a': 'pass',
    'm.T.test_b': 'fail',
    'm.T.test_c': 'pass',
    'm.T.test_e': 'fail',
  })
})

test('ticks and crosses are read, in colour too, without their times', async () => {
  const log = `  Array\n    \u001b[32m✓\u001b[0m sorts (12ms)\n    ✔ joins\n    1) splits\n  ✕ maps (3 ms)\n`
  expect(await report('marks', log)).toEqual({ sorts: 'pass', joins: 'pass', splits: 'fail', maps: 'fail' })
})

test('a test that is said to pass and to fail has failed', () => {
  expect(Object.fromEntries(parseReport('pass\ta\nfail\ta\npass\ta\nnonsense\npass\tb\n'))).toEqual({
    a: 'fail',
    b: 'pass',
  })
})

test('tests of Django are called by their lines, and by their descriptions where they have one', async () => {
  const log = `Testing against Django installed in '/testbed/django'
test_ascii (auth_tests.test_validators.NameTests) ... ok
test_new (auth_tests.test_validators.NameTests.test_new) ... FAIL
test_urls (auth_tests.test_views.NamedTests)
Named URLs should be reversible ... ok
test_slow (auth_tests.test_views.NamedTests) ... skipped 'no database'
test_known (auth_tests.test_views.NamedTests) ... expected failure
`
  expect(await report('unittest-lines', log)).toEqual({
    'test_ascii (auth_tests.test_validators.NameTests)': 'pass',
    'test_new (auth_tests.test_validators.NameTests)': 'fail',
    'Named URLs should be reversible': 'pass',
    'test_known (auth_tests.test_views.NamedTests)': 'pass',
  })
})

test('tests of SymPy are called by their names', async () => {
  const log =
    'sympy/geometry/tests/test_point.py[3]\ntest_Point ok\ntest_issue_11617 F\ntest_slow f\ntest_bad E\n                [FAIL]\n'
  expect(await report('name-ok', log)).toEqual({ test_Point: 'pass', test_issue_11617: 'fail', test_bad: 'fail' })
})
