import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import { makeRandom } from '../../../lib/random.ts'
import expectedOutput from './index.ts'
import { type Normaliser, normalisers } from './output-check.ts'
import { varyCase } from './vary.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: object = {}) =>
  expectedOutput.make(expectedOutput.options.parse({ instruction: 'Do this: {{q}}', ...options }), context)
const row = (id: string, fields: Record<string, unknown>): RawRow => ({ id, source: 'test', fields })

const sums = row('1', {
  q: 'add the second column up',
  script: "awk '{ s += $2 } END { print s }' data.txt",
  files: { 'data.txt': 'a 1\nb 2\nc 30' },
  expected: '33',
})
const rows = [
  sums,
  row('2', { q: 'nothing to run' }),
  row('3', { q: 'why not', problem: 'the answer is in words' }),
  row('4', { q: 'no input', script: 'echo hello' }),
  row('5', { script: 'echo "$1"', args: ['12'] }),
]

stageLaws('makers/expected-output', { make: async () => make() as never, rows })

test('a row becomes a task that says how the script is run; the reference and other inputs are known to the tests alone', async () => {
  const [task, ...others] = await runStage(make() as never, rows)
  const { instruction, files } = task as TaskDraft
  expect(instruction).toContain('Do this: add the second column up\n\nWrite a Bash script, `/app/solve.sh`')
  expect(instruction).toContain('in a folder with `data.txt`')
  expect(Object.keys(files).filter((path) => path.startsWith('environment/'))).toEqual([
    'environment/Dockerfile',
    'environment/data.txt',
  ])
  expect(Object.keys(files).filter((path) => path.endsWith('/files/data.txt')).length).toBe(5)
  expect(others).toMatchObject([
    { drop: 'no-checkable-answer', id: '2' },
    { drop: 'no-checkable-answer', id: '3', detail: 'the answer is in words' },
    { drop: 'no-checkable-answer', id: '4', detail: expect.stringContaining('varied') },
    { drop: 'missing-field', id: '5' },
  ])
})

/** Runs a task's own tests on a script, with the sandbox's folders moved below a directory. */
async function score(fields: Record<string, unknown>, script: string | null, options: object = {}): Promise<string> {
  const [task] = await runStage(make(options) as never, [row('1', fields)])
  const dir = await makeTempDir()
  mkdirSync(join(dir, 'logs'))
  mkdirSync(join(dir, 'app'))
  for (const [path, { data }] of Object.entries((task as TaskDraft).files)) {
    const moved = String(data)
      .replaceAll('/tests/', `${dir}/tests/`)
      .replaceAll('/logs/verifier', `${dir}/logs`)
      .replaceAll('/app/', `${dir}/app/`)
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), path === 'tests/test.sh' ? moved : data)
  }
  rmSync(join(dir, 'solution'), { recursive: true })
  if (script !== null) writeFileSync(join(dir, 'app/solve.sh'), script)
  spawnSync('bash', [join(dir, 'tests/test.sh')], { encoding: 'utf8' })
  return readFileSync(join(dir, 'logs/reward.txt'), 'utf8').trim()
}

test.each([
  ['another script that does the same', "awk '{ print $2 }' data.txt | awk '{ t = t + $1 } END { print t }'", '1'],
  ['the answer as it was shown', 'echo 33', '0'],
  ['a wrong one', "awk '{ s += NR } END { print s }' data.txt", '0'],
  ['one that looks for the reference', 'bash "$(dirname "$0")/../tests/reference"', '0'],
  ['an empty one', '', '0'],
  ['none', null, '0'],
])('%s', async (_, script, reward) => {
  expect(await score(sums.fields, script)).toBe(reward)
})

test('nothing earns a reward where the reference does not print what was shown, or always prints the same', async () => {
  const script = String(sums.fields.script)
  expect(await score({ ...sums.fields, expected: '34' }, script)).toBe('0')
  expect(await score({ ...sums.fields, script: 'echo 33' }, 'echo 33')).toBe('0')
  expect(
    await score({ q: 'x', script: 'echo $(( $1 * 2 ))', args: ['21'], expected: '42\n' }, 'expr "$1" + "$1"'),
  ).toBe('1')
})

test('where the order of lines means nothing, any order is right', async () => {
  const fields = { ...sums.fields, script: 'cut -c1 data.txt', expected: 'a\nb\nc' }
  expect(await score(fields, 'cut -c1 data.txt | sort -r')).toBe('0')
  expect(await score(fields, 'cut -c1 data.txt | sort -r', { order: 'any' })).toBe('1')
})

test.each<[Normaliser, string, string]>([
  ['line-ends', 'a b \t\r', 'a b'],
  ['blanks', '  a \t b', 'a b'],
  ['tabs', 'a\tb\t\tc', 'a       b               c'],
  ['tabs', '     1\tHi\n12345678\tx', '     1  Hi\n12345678        x'],
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['sizes', 'drwxr-xr-x 2 root root 4096 Jan 1 x', 'drwxr-xr-x 2 root root DIRSIZE Jan 1 x'],
  ['sizes', '4.0K\t./a/', 'DIRSIZE\t./a/'],
  ['sizes', '-rw-r--r-- 1 root root 4096 Jan 1 x', '-rw-r--r-- 1 root root 4096 Jan 1 x'],
])('%s: %j', (name, text, plain) => {
  const { stdout, stderr } = spawnSync('sed', ['-e', normalisers[name]], { input: `${text}\n`, encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout.replace(/\n$/, '')).toBe(plain)
})

test('varied inputs differ from the one shown, keep its first line, and are the same every time', () => {
  const shown = { files: { 'a.csv': 'name,n\nx,10\ny,25\nz,7\n' }, args: ['-n', '5', 'word'], stdin: '' }
  const vary = () => varyCase(shown, makeRandom(1, 'a'), { count: 4 })
  expect(vary()).toEqual(vary())
  expect(vary().length).toBe(4)
  for (const { files, args } of vary()) {
    expect(files['a.csv']).toMatch(/^name,n\n(?:[xyz],\d+\n)+$/)
    expect({ files, args }).not.toEqual({ files: shown.files, args: shown.args })
    expect(args[0]).toBe('-n')
  }
})

test('sorted lines stay sorted and single for programs that expect them so', () => {
  const shown = { files: { 'a.txt': 'ash\nbay\nelm\nfir\noak\n', 'b.txt': 'oak\nash\n' }, args: [], stdin: '' }
  const varied = varyCase(shown, makeRandom(1, 'a'), { count: 5, keepsSorted: true })
  expect(varied.length).toBe(5)
  for (const { files } of varied) {
    const lines = (files['a.txt'] ?? '').trimEnd().split('\n')
    expect(lines).toEqual([...new Set(lines)].sort())
  }
  const free = varyCase(shown, makeRandom(1, 'a'), { count: 5 }).map(({ files }) => files['a.txt'] ?? '')
  expect(free.some((text) => text.trimEnd() !== text.trimEnd().split('\n').sort().join('\n'))).toBe(true)
})

test('a text without a line end at its end gets none, and the few words of a short one change places', () => {
  const shown = { files: {}, args: [], stdin: 'green tea leaves' }
  const varied = varyCase(shown, makeRandom(1, 'a'), { count: 4 })
  expect(varied.length).toBeGreaterThan(1)
  for (const { stdin } of varied) expect(stdin.split(' ').sort()).toEqual(['green', 'leaves', 'tea'])
})
