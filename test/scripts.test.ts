import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

describe('scripts/test.mjs', () => {
  test('counts what passed, failed and was skipped, alone on its last line', () => {
    const run = runTests({
      'test/good.test.ts': `test('passes', () => {})`,
      'test/bad.test.ts': `test('fails', () => { expect(1).toBe(2) })`,
      'test/off.test.ts': `test('on', () => {}); test('off', (t) => t.skip('no moon')); describe('far', { skip: true, meta: { skipReason: 'no sun' } }, () => { test('off too', () => {}) })`,
    })
    expect(run.lines.at(-1)).toBe('2 passed, 1 failed, 2 skipped')
    expect(run.lines).toContain('  test/off.test.ts > off: no moon')
    expect(run.lines).toContain('  test/off.test.ts > far > off too: no sun')
    expect(run.status).toBe(1)
  })

  test('ends well when nothing failed', () => {
    const run = runTests({
      'test/good.test.ts': `test('passes', () => {})`,
      'test/long/slow.test.ts': `test('slow', () => { expect(1).toBe(2) })`,
    })
    expect([run.lines.at(-1), run.status]).toEqual(['1 passed, 0 failed, 0 skipped', 0])
  })

  test('counts errors outside of tests as failures', () => {
    const run = runTests({
      'test/good.test.ts': `test('passes', () => {})`,
      'test/import.test.ts': `import './nowhere.ts'; test('never seen', () => {})`,
      'test/hook.test.ts': `beforeAll(() => { throw new Error('hook') }); test('never run', () => {})`,
      'test/late.test.ts': `test('lets an error loose', () => { setTimeout(() => { throw new Error('late') }); return new Promise((r) => setTimeout(r, 50)) })`,
    })
    // The broken import, the hook and its test, and the unhandled error.
    expect([run.lines.at(-1), run.status]).toEqual(['2 passed, 4 failed, 0 skipped', 1])
  })

  test('skips, by name, what has not begun when its time is up', () => {
    const hourLater = `const now = Date.now; Date.now = () => now() + 3_600_000`
    const files = {
      'test/a.test.ts': `test('begins', () => { ${hourLater} }); test('waits', () => {}); describe('more', () => { test('waits', () => {}) })`,
    }
    const run = runTests(files, { OT_AGENT_TEST_UNTIL: String(Date.now() / 1000 + 1800) })
    expect([run.lines.at(-1), run.status]).toEqual(['1 passed, 0 failed, 2 skipped', 0])
    expect(run.lines.filter((line) => line.endsWith('waits: no time left'))).toHaveLength(2)
    const late = runTests(files, { OT_AGENT_TEST_UNTIL: '1' })
    expect([late.lines.at(-1), late.status]).toEqual(['0 passed, 0 failed, 3 skipped', 1])
    expect(late.lines.filter((line) => line.endsWith(': no time left'))).toHaveLength(3)
  })

  test('refuses a forgotten test.only', () => {
    const run = runTests({ 'test/only.test.ts': `test.only('alone', () => {}); test('forgotten', () => {})` })
    expect(run.status).toBe(1)
    expect(run.lines.at(-1)).toMatch(/^0 passed, [1-9]\d* failed, /)
  })

  test('fails when no test ran', () => {
    expect(runTests({}).status).toBe(1)
    expect(runTests({ 'test/off.test.ts': `test.skip('off', () => {})` }).status).toBe(1)
  })
})

describe('.ci/run', () => {
  const good = 'echo 5 passed, 0 failed, 1 skipped'

  test('adds up both suites', () => {
    const run = runCi({ test: good, 'test:long': 'echo 2 passed, 0 failed, 0 skipped' })
    expect([run.lines.at(-1), run.status]).toEqual(['7 passed, 0 failed, 1 skipped', 0])
  })

  test('runs the long suite after a failure of the first, and fails', () => {
    const run = runCi({ test: 'echo 4 passed, 1 failed, 1 skipped; exit 1', 'test:long': good })
    expect([run.lines.at(-1), run.status]).toEqual(['9 passed, 1 failed, 2 skipped', 1])
  })

  test.each([
    ['a suite that gives no counts', { test: 'exit 0', 'test:long': good }],
    ['a suite that ends badly after good counts', { test: `${good}; exit 1`, 'test:long': 'true' }],
    ['lint', { lint: 'exit 1', test: good, 'test:long': good }],
    ['types', { types: 'exit 1', test: good, 'test:long': good }],
    ['the install', { ci: 'exit 1', test: good, 'test:long': good }],
  ])('fails with %s', (_, parts) => {
    const run = runCi(parts)
    expect(run.status).toBe(1)
    expect(run.lines.at(-1)).toMatch(/^\d+ passed, [1-9]\d* failed, \d+ skipped$/)
  })
})

describe('scripts/setup.mjs', () => {
  test('refuses a part it does not know, and lists those it knows', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs', 'constructor'], { encoding: 'utf8' })
    expect(status).toBe(2)
    expect(stderr).toMatch(/^error: unknown part "constructor"\nhint: .*bubblewrap/)
  })

  test('takes a program by any of its names, and asks for one where there is none', () => {
    const dir = mkdtempSync(join(tmpdir(), 'programs-'))
    const add = (name: string) => writeFileSync(join(dir, name), '', { mode: 0o755 })
    const run = () =>
      spawnSync(process.execPath, ['scripts/setup.mjs', '--required', 'readers'], {
        ...{ env: { PATH: dir }, encoding: 'utf8' },
      })
    add('pdftotext')
    expect(run()).toMatchObject({ status: 1, stderr: expect.stringContaining('missing: 7zz or 7z (no apt-get here') })
    add('7z')
    expect(run()).toMatchObject({ status: 0, stderr: '' })
  })
})

/** Runs scripts/test.mjs on a project with these files. */
function runTests(files: Readonly<Record<string, string>>, more: NodeJS.ProcessEnv = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'project-'))
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  for (const name of [
    'scripts/test.mjs',
    'vitest.config.ts',
    'test/setup.ts',
    'test/runner.ts',
    'test/global-setup.ts',
  ])
    copy(name, dir)
  for (const [name, body] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), `import { beforeAll, describe, expect, test } from 'vitest'\n${body}\n`)
  }
  const env = { ...bareEnv(), ...more }
  return outcome(spawnSync(process.execPath, ['scripts/test.mjs'], { cwd: dir, encoding: 'utf8', env }))
}

/** Runs .ci/run with a fake npm made of these shell lines. */
function runCi(parts: Readonly<Record<string, string>>) {
  const dir = mkdtempSync(join(tmpdir(), 'checkout-'))
  copy('.ci/run', dir)
  const cases = Object.entries(parts).map(([name, line]) => `  ${name}) ${line} ;;`)
  mkdirSync(join(dir, 'bin'))
  writeFileSync(
    join(dir, 'bin/npm'),
    ['#!/bin/sh', 'for last; do :; done', 'case $last in', ...cases, 'esac', ''].join('\n'),
  )
  chmodSync(join(dir, 'bin/npm'), 0o755)
  const env = { ...bareEnv(), PATH: `${join(dir, 'bin')}:${process.env.PATH}` }
  return outcome(spawnSync(join(dir, '.ci/run'), { encoding: 'utf8', env }))
}

function outcome({ status, stdout, stderr }: { status: number | null; stdout: string; stderr: string }) {
  return { status, lines: stdout.trimEnd().split('\n'), stderr }
}

function copy(name: string, dir: string): void {
  cpSync(name, join(dir, name), { recursive: true })
}

/** The environment without the variables that the surrounding test run sets for its workers. */
function bareEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV$|TEST$|MODE$|OT_AGENT_TEST_UNTIL$)/.test(name)),
  )
}

describe('scripts/yields.mjs', () => {
  const yields = (...words: string[]) =>
    spawnSync(process.execPath, [resolve('scripts/yields.mjs'), ...words], { encoding: 'utf8' })

  test('prints a row per report, how many of the tasks each check accepted', () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-yields-'))
    const checks = [
      { name: 'oracle', ok: 2, fail: 1, unknown: 0, skipped: 0 },
      { name: 'shallow', ok: 1, fail: 0, unknown: 0, skipped: 2 },
      { name: 'opinion', ok: 0, fail: 0, unknown: 0, skipped: 3 },
    ]
    const file = join(dir, 'a=b.json')
    writeFileSync(file, JSON.stringify({ schema: 'tasks-check/1', accepted: 2, checks, tasks: [{}, {}, {}] }))
    expect(yields(`books=${file}`).stdout.split('\n')).toEqual([
      '| pipeline | checked | oracle | shallow | accepted |',
      '| --- | --- | --- | --- | --- |',
      '| books | 3 | 2/3 | 1/1 | 2 |',
      '',
    ])
    expect(yields('books')).toMatchObject({ status: 2, stderr: expect.stringContaining('expected NAME=FILE') })
    expect(yields(`books=${dir}/none.json`)).toMatchObject({ status: 2, stderr: expect.stringContaining('none.json') })
  })
})

describe('scripts/failure-rates.mjs', () => {
  const rates = (...words: string[]) =>
    spawnSync(process.execPath, [resolve('scripts/failure-rates.mjs'), ...words], { encoding: 'utf8' })
  const solution = `#!/bin/bash
cd /app
sed -n 2p run.sh
perl -pi -e '$_ = <STDIN> if $. == 2' run.sh <<'END_OF_LINE'
echo two
END_OF_LINE
for part in a b; do
  cat "$part" | tail -n +2
done |
  awk '{ print $1 }' |
  sort > out.txt
chmod 755 run.sh
`

  function writeTask(dir: string, name: string, difficulty: string) {
    mkdirSync(join(dir, name, 'solution'), { recursive: true })
    writeFileSync(join(dir, name, 'task.toml'), `[metadata]\ndifficulty = "${difficulty}"\ncategory = "text"\n`)
    writeFileSync(join(dir, name, 'solution/solve.sh'), solution)
  }

  test('takes as many tasks of each difficulty as asked for, those that were drawn first', () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-rates-'))
    for (const [name, difficulty] of Object.entries({ 'b-2': 'easy', 'a-3': 'easy', 'c-1': 'hard', 'a-10': 'hard' }))
      writeTask(join(dir, 'tasks'), name, difficulty)
    expect(rates('sample', join(dir, 'tasks'), join(dir, 'out'), '1').stdout).toContain('2 tasks of 2 places')
    expect(readdirSync(join(dir, 'out')).sort()).toEqual(['b-2', 'c-1'])
  })

  test('leaves out one step of a solution, never half of one, and nothing that only looks', () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-rates-'))
    writeTask(join(dir, 'tasks'), 'a-1', 'easy')
    rates('forget', join(dir, 'tasks'), join(dir, 'out'), '9')
    const gone = readdirSync(join(dir, 'out')).map((name) => {
      const left = readFileSync(join(dir, 'out', name, 'solution/solve.sh'), 'utf8').split('\n')
      return solution.split('\n').filter((line) => !left.includes(line))
    })
    expect(gone).toEqual([
      [`perl -pi -e '$_ = <STDIN> if $. == 2' run.sh <<'END_OF_LINE'`, 'echo two', 'END_OF_LINE'],
      [`  awk '{ print $1 }' |`],
      ['  sort > out.txt'],
    ])
  })

  test('counts failures by category and difficulty; trials without a score are no failures', () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-rates-'))
    writeTask(dir, 'a-1', 'hard')
    const trials = { one: { reward: 1 }, two: { reward: 0.5 }, none: null }
    for (const [name, rewards] of Object.entries(trials)) {
      mkdirSync(join(dir, 'job', name), { recursive: true })
      const result = { task_id: { path: join(dir, 'a-1') }, verifier_result: rewards && { rewards } }
      writeFileSync(join(dir, 'job', name, 'result.json'), JSON.stringify(result))
    }
    expect(rates('table', join(dir, 'job'))).toMatchObject({ status: 2, stderr: expect.stringContaining('no') })
    writeFileSync(join(dir, 'job/job.json'), '{}')
    expect(rates('table', join(dir, 'job')).stdout.split('\n').slice(2)).toEqual([
      '| text | - | - | 1 of 2 |',
      '| all | - | - | 1 of 2 |',
      '',
      '1 trials without a score',
      '',
    ])
  })
})
