import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { checkPy } from '../../data/wikitable-format-conversion/check.ts'
import { formatNames, formats } from '../../data/wikitable-format-conversion/formats.ts'
import { makeCheckout } from '../fakes/defects4j-checkout.ts'
import { needs } from '../needs.ts'
import { scratch } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }

/** Makes all tasks of a fixture without proving them; test/e2e/generate.test.ts proves some of every pipeline. */
function generate(pipeline: string, ...words: string[]) {
  const out = join(scratch, `${pipeline}-${words.join('').replace(/\W+/g, '-')}`)
  const line = [
    bin,
    'generate',
    `data/${pipeline}/generate.ts`,
    '--output-dir',
    out,
    '--no-check',
    '--json',
    '--quiet',
    ...words,
  ]
  const { status, stdout, stderr } = spawnSync(process.execPath, line, { env, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  return { out, names: readdirSync(join(out, 'tasks')), rejects: JSON.parse(stdout).tasks.metadata.rejects }
}

test('a question is tried by example, by program and by rubric, in this order', needs('bwrap'), () => {
  const ways = (site: string) => {
    const { out, names, rejects } = generate('stackexchange', '--site', site, '--kind', 'all')
    const lineage = (name: string) => readFileSync(join(out, 'tasks', name, 'task.toml'), 'utf8')
    return { rejects, ways: names.map((name) => `${name} ${/strategy = "(.*)"/.exec(lineage(name))?.[1]}`) }
  }
  expect(ways('serverfault')).toEqual({
    ways: ['serverfault-10 by-program', 'serverfault-12 by-rubric'],
    rejects: { 'needs-picture': 1, 'solved-in-question': 1 },
  })
  expect(ways('overflow').ways).toEqual([
    'overflow-10 by-program',
    'overflow-12 by-program',
    'overflow-14 by-example',
    // A single sentence, but endorsed by ten readers.
    'overflow-16 by-rubric',
  ])
  // The question's own function is as good as the answer's: no program can tell them apart.
  expect(ways('codereview').ways).toEqual(['codereview-10 by-rubric', 'codereview-12 by-example'])
})

test('questions whose example cannot be run are left out', () => {
  const { names, rejects } = generate('stackexchange', '--site', 'tezos', '--kind', 'example')
  expect(names).toHaveLength(1)
  expect(Object.keys(rejects)).toEqual(['no-checkable-answer'])
})

test('a question keeps its title and its code, and the answer stays with the tests', () => {
  const { out } = generate('stackexchange', '--site', 'tor', '--kind', 'example')
  const [name = ''] = readdirSync(join(out, 'tasks'))
  const instruction = readFileSync(join(out, 'tasks', name, 'instruction.md'), 'utf8')
  expect(instruction).toMatch(/^# Count relays by country from a list\n/)
  expect(instruction).toContain('```\nnickname,country,bandwidth\n')
  expect(instruction).not.toContain('uniq -c')
})

test('Python that is used counts, other snippets do not', () => {
  const { names, rejects } = generate('staqc', '--subset', 'sca_python')
  expect(names).toHaveLength(6)
  expect(rejects).toEqual({ 'no-checkable-answer': 2 })
})

test('a dump of one’s own is read as the fixture is', () => {
  const path = join(scratch, 'Posts.xml')
  writeFileSync(path, readFileSync('data/stackexchange/fixtures/superuser.xml'))
  expect(generate('stackexchange', '--source', path, '--kind', 'example').names).toHaveLength(2)
})

test('programs from elsewhere solve problems whose editorial shows none', () => {
  const path = join(scratch, 'programs.jsonl')
  writeFileSync(path, `${JSON.stringify({ id: '8003/A', code: 'print(1)\n' })}\n`)
  expect(generate('codeforces', '--solutions', path).names).toHaveLength(8)
})

test('every table format is read back by the check, whatever is in the cells', needs('python3'), () => {
  const dir = join(scratch, 'formats')
  mkdirSync(dir, { recursive: true })
  const table = {
    header: ['a', 'b "c"', 'd|e'],
    rows: [
      ['1,5', '<x> & y', 'p|q'],
      ['', "it's", '"quoted"'],
      ['ü', 'two words', '\\'],
    ],
  }
  writeFileSync(join(dir, 'check.py'), checkPy)
  writeFileSync(join(dir, 'table.json'), JSON.stringify(table))
  const check = (name: string, text: string) => {
    writeFileSync(join(dir, 'given'), text)
    return spawnSync('python3', ['-I', 'check.py', name, 'given', 'table.json'], { cwd: dir, encoding: 'utf8' })
  }
  for (const name of formatNames) {
    expect([name, check(name, formats[name].render(table)).stderr]).toEqual([name, ''])
    const wrong = { ...table, rows: [...table.rows.slice(1), table.rows[0] ?? []] }
    expect([name, check(name, formats[name].render(wrong)).status]).toEqual([name, 1])
  }
})

test(
  'a bug of a checkout of Defects4J becomes a task without the tests that show it',
  needs('bwrap', 'git', 'javac', '/usr/share/java/junit4.jar'),
  () => {
    const dir = join(scratch, 'checkout')
    const revision = makeCheckout(dir)
    const { out, names, rejects } = generate('defects4j', '--source', 'real', '--input-dir', dir)
    expect({ names, rejects }).toEqual({ names: ['defects4j-Tariffs-1'], rejects: { 'unreadable-row': 1 } })
    const read = (path: string) => readFileSync(join(out, 'tasks/defects4j-Tariffs-1', path), 'utf8')
    const instruction = read('instruction.md')
    expect(instruction).toMatch(/^# tariffs: Heavy things have a price below zero\n/)
    expect(instruction).toContain('assertEquals(245, tariff.total(5, 9000, 100));')
    expect(instruction).toContain('expected:<245> but was:<244>')
    expect(instruction).not.toContain('leavesOutWhatIsTooHeavy')
    expect(read('task.toml')).toContain(revision)
    const seen = 'environment/repo/src/test/java/org/example/tariffs/TariffTest.java'
    expect(read(seen)).toContain('refusesOverlaps')
    expect(read(seen)).not.toContain('leavesOutWhatIsTooHeavy')
    expect(readdirSync(join(out, 'tasks/defects4j-Tariffs-1/environment/repo')).sort()).toEqual(['README.md', 'src'])
    expect(read('tests/fail-to-pass.txt')).toBe('org.example.tariffs.TariffTest::leavesOutWhatIsTooHeavy\n')
    expect(read('tests/pass-to-pass.txt').trim().split('\n')).toHaveLength(7)
  },
)
