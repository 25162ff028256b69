import { expect, test } from 'vitest'
import type { Task } from '../../../core/task.ts'
import type { TaskFiles } from '../task-files.ts'
import { checkStated, hidesOrder } from './check-stated.ts'
import type { LawSights } from './law-bench.ts'
import { checkReference, checkShallow, type LawPaths, stderrWarning } from './law-checks.ts'
import { pathsInProse, pathsInScripts } from './named-paths.ts'
import { examplesIn, shallowSolutions } from './shallow-solutions.ts'

const taskOf = (instruction: string) => ({ instruction, environment: { env: {} }, solution: { env: {} } }) as Task
const filesOf = (solution: string): TaskFiles => {
  const file = { path: 'solution/solve.sh', name: 'solve.sh', text: solution, mode: 0o755 }
  const round = { step: null, instruction: null, tests: [], testScript: null, solution: [file], solveScript: file }
  return { rounds: [round], environment: [] }
}
const nothing: LawSights = {
  workdir: '/app',
  before: new Map(),
  after: new Map(),
  paid: [],
  tried: 0,
  stderr: '',
  pipes: [],
  made: new Map(),
  orderMatters: [],
}
const noPaths: LawPaths = { told: [], tested: [] }

test.each([
  ['Read `/app/in.csv`, then write /app/out.json.', ['/app/in.csv', '/app/out.json']],
  ['Call http://host/api/users and/or 1/2 of it; `src/main.py` is not absolute.', []],
  ['One of /app/*.log, /app/{name}.txt or /tests/x.py.', []],
  ['```\nGET /app/page\n```\nKeep /app/log.', ['/app/log']],
  ['[ISSUE] It breaks. [/ISSUE] See /issues.', []],
])('an instruction names absolute paths in its prose: %s', (text, paths) => {
  expect(pathsInProse(text).map(({ path }) => path)).toEqual(paths)
})

test('tests name paths, also in quotes', () => {
  const script = 'if diff -q "/app/out.txt" /tests/expected; then echo 1 > /logs/verifier/reward.txt; fi'
  expect(pathsInScripts([{ path: 'tests/test.sh', text: script }]).map(({ path }) => path)).toEqual(['/app/out.txt'])
})

test('examples are fenced or quoted texts, without paths and file names in folders', () => {
  const text = 'Write `hello world` to `/app/x.txt`, not "bye":\n\n```json\n{"a": 1}\n```\n'
  expect(examplesIn(text)).toEqual(['hello world', '{"a": 1}', 'bye'])
  expect(examplesIn('~~~\na long\n  b ```\n```\nopen')).toEqual(['a long\n  b'])
})

test('very many fences that are never closed take no longer than others', () => {
  expect(examplesIn('```x\n'.repeat(100_000))).toEqual([])
})

test('a shallow solution writes every requested file, and a program where one is requested', () => {
  const ask = { instruction: 'x', targets: ['/app/a b.txt', '/app/run.py'], inputs: ['/app/in'] }
  const [touch, , copy] = shallowSolutions(ask)
  expect(touch?.script).toContain("touch '/app/a b.txt'")
  expect(copy?.name).toBe('copy /app/in')
  expect(copy?.script).toContain("cat /app/in > '/app/a b.txt'")
  expect(copy?.script).toContain('else sys.stdin).read()')
  expect(shallowSolutions({ ...ask, targets: [] })).toEqual([])
})

test('a requested program prints, copies or lists in its language, and copies its input when there is no file', () => {
  const scripts = (target: string, inputs: readonly string[] = []) =>
    shallowSolutions({ instruction: 'x', targets: [target], inputs }).map(({ script }) => script)
  expect(scripts('/app/solution.py').join('\n')).toContain('sys.stdin).read()')
  expect(scripts('/app/solution.cpp').join('\n')).toMatch(/int main[\s\S]*puts\("yes"\)/)
  expect(scripts('/app/solve.sh', ['/app/fruits.txt']).join('\n')).toContain('cat fruits.txt')
  expect(scripts('/app/main.js').join('\n')).toContain('console.log("[]")')
  expect(scripts('/app/notes.txt').join('\n')).not.toMatch(/stdin|main/)
})

test('a requested query selects everything, and is SQL throughout', () => {
  const instruction =
    'Who?\n\n```sql\nCREATE TABLE "people" ("id" INTEGER);\nCREATE TABLE "cities" ("id" INTEGER);\n```\n'
  const solutions = shallowSolutions({ instruction, targets: ['/app/query.sql'], inputs: ['/app/data.sql'] })
  const queries = solutions.flatMap(({ script }) => /printf '%s\\n' '(.*)' > /.exec(script)?.[1] ?? [])
  expect(queries.slice(0, 3)).toEqual([
    'SELECT * FROM "people";',
    'SELECT * FROM "cities";',
    'SELECT * FROM "people" NATURAL JOIN "cities";',
  ])
  expect(queries).toContain('SELECT COUNT(*) FROM "people";')
  expect(solutions.some(({ script }) => script.includes('SELECT NULL;'))).toBe(true)
  expect(solutions.some(({ script }) => /^cat /m.test(script))).toBe(false)
})

test.each(['sql', 'js', 'c', 'cc', 'cpp', 'py', 'sh'])(
  'a program that the instruction shows is tried unchanged: .%s',
  (ending) => {
    const instruction = "Why is `x` slow?\n\n```\nshort it's\n```\n\n```sql\nSELECT a\nFROM t\n```\n"
    const raw = (target: string) =>
      shallowSolutions({ instruction, targets: [target], inputs: [] })
        .filter(({ name }) => name.includes('as it stands'))
        .map(({ script }) => script)
    expect(raw(`/app/x.${ending}`)).toEqual([
      expect.stringContaining(`printf '%s\\n' 'short it'\\''s' > /app/x.${ending}`),
      expect.stringContaining(`printf '%s\\n' 'SELECT a\nFROM t' > /app/x.${ending}`),
    ])
    expect(raw('/app/x.txt')).toEqual([])
  },
)

test('a function that a new file has to define gets trivial bodies', () => {
  const instruction = 'Write Python 3 code to `/app/solution.py` that defines `widths(rows, least=1)`.'
  const [first, , third] = shallowSolutions({ instruction, targets: ['/app/solution.py'], inputs: [] })
  expect(first?.name).toBe('define widths: return None')
  expect(third?.script).toContain('def widths(first=None, *rest, **named):\n    return first')
})

test('a paid shallow solution rejects the task, and the report shows what it does', () => {
  expect(checkShallow(5, { name: 'touch', script: 'touch /app/x' })).toMatchObject({
    outcome: 'fail',
    evidence: ['touch /app/x'],
  })
  expect([checkShallow(5, null).outcome, checkShallow(0, null).outcome]).toEqual(['ok', 'skipped'])
})

test.each([
  ['cat: /app/x: No such file or directory', true],
  ['bash: line 3: foo: command not found', true],
  ['find: warning: you have specified the global option -maxdepth after the argument -name', true],
  ['Traceback (most recent call last):', true],
  ['Switched to branch main', false],
  ['Ran 3 tests in 0.001s', false],
])('a complaint on stderr rejects, other words are a warning: %s', (stderr, rejects) => {
  const sights = { ...nothing, stderr: `${stderr}\n` }
  const { outcome } = checkReference(noPaths, sights, taskOf('Do it.'), filesOf(''))
  expect([outcome, stderrWarning(sights).length]).toEqual(rejects ? ['fail', 0] : ['ok', 1])
})

test('what a solution leaves empty rejects, unless the instruction mentions empty files', () => {
  const told = pathsInProse('Write /app/out.txt.')
  const sights: LawSights = {
    ...nothing,
    before: new Map([['/app/out.txt', 'absent']]),
    after: new Map([['/app/out.txt', 'blank']]),
  }
  const judged = (words: string) => checkReference({ told, tested: [] }, sights, taskOf(words), filesOf('')).outcome
  expect([judged('Write it.'), judged('Make an empty file.')]).toEqual(['fail', 'ok'])
})

test('results that are all 0 mean that nothing was found; next to others, 0 may be right', () => {
  const judged = (...texts: string[]) => {
    const made = new Map(texts.map((text, nth) => [`/app/${nth}`, text]))
    return checkReference(noPaths, { ...nothing, made }, taskOf('Count.'), filesOf('')).outcome
  }
  expect([judged('  0  0\n'), judged('0\n', '7\n'), judged('10\n')]).toEqual(['fail', 'ok', 'ok'])
})

test('a path with placeholder letters names no file', () => {
  expect(pathsInProse('It goes to `/app/photos/YYYY/MM/YYYY-MM-DD.EXT` and /app/out/NAME.txt.')).toEqual([])
  expect(pathsInProse('Read /app/parts/ORDER and /app/NAMES.txt.').map(({ path }) => path)).toEqual([
    '/app/parts/ORDER',
    '/app/NAMES.txt',
  ])
})

test('a path that neither exists nor is made rejects the task, unless the sentence hedges or the solution mentions it', () => {
  const judged = (words: string, solution = '') => {
    const told = pathsInProse(words)
    const absent = new Map(told.map(({ path }) => [path, 'absent' as const]))
    const sights = { ...nothing, before: absent, after: absent }
    return checkReference({ told, tested: [] }, sights, taskOf(words), filesOf(solution)).outcome
  }
  expect(judged('Count the lines of /app/x.txt.')).toBe('fail')
  expect(judged('Count the lines of /app/x.txt, if it exists.')).toBe('ok')
  expect(judged('The program reads /app/x.txt.', 'cat x.txt')).toBe('ok')
  // A hedge must be in the sentence that names the path, and "like" or "for example" must precede it.
  expect(judged('Count the words of /app/x.txt? Case does not matter.')).toBe('fail')
  expect(judged('Put the values into /app/x.tmpl, whose marks look like {{a}}.')).toBe('fail')
  expect(judged('Repair /app/x.sh.\n\nFor example, bash /app/x.sh prints 3.')).toBe('fail')
  expect(judged('It prints something like /app/x.txt. Do it.')).toBe('ok')
  expect(judged('Give it a path, e.g. /app/x.txt.')).toBe('ok')
  expect(judged('/app/x.txt would be wrong.')).toBe('ok')
  expect(judged('The log /app/x.txt exists already.')).toBe('fail')
})

test.each([
  ['Reads /app/x.conf.\n\nIf /app/x.conf is missing, it uses defaults.', 'ok'],
  ['Reads `/app/x.conf`. The program runs on when there is no `/app/x.conf`.', 'ok'],
  ['Reads /app/x.conf.\nMake /app/x.conf, if it is not there.', 'ok'],
  ['Print yes or no: whether /app/x.conf exists.', 'ok'],
  ["Reads /app/x.conf.\nUse defaults if the file `/app/x.conf` isn't there.", 'ok'],
  ['Reads /app/x.conf.\nIf /app/x.conf has missing values, leave them out.', 'fail'],
  ['Reads /app/x.conf.\nWhen a line of /app/x.conf has no comma, print it.', 'fail'],
  ['Reads /app/x.conf.\nIf you are done, /app/x.conf exists.', 'fail'],
  ['Reads /app/x.conf.\nIf /app/x.conf.bak is missing, it stops.', 'fail'],
  ['Reads /app/x.conf.\nIf the folder does not exist, make it, and copy /app/x.conf there.', 'fail'],
  ['Reads /app/x.conf.\nFor example, /app/x.conf has a line a=1.', 'fail'],
  ['Reads /app/x.conf.\nWrite the result to /app/x.conf.', 'fail'],
])('a path that may be missing by any sentence is excused: %s', (words, outcome) => {
  const told = pathsInProse(words).filter(({ path }) => path === '/app/x.conf')
  const absent = new Map([['/app/x.conf', 'absent' as const]])
  const sights = { ...nothing, before: absent, after: absent }
  expect(checkReference({ told, tested: [] }, sights, taskOf(words), filesOf('')).outcome).toBe(outcome)
})

test('a variable that nothing sets rejects the task, and the line that mentions it is shown', () => {
  const judged = (words: string, solution: string) => checkReference(noPaths, nothing, taskOf(words), filesOf(solution))
  expect(judged('Do it.\n\nList $dir.', 'ls $dir')).toMatchObject({
    outcome: 'fail',
    reasons: ['variable: the instruction mentions $dir, but nothing sets it'],
    evidence: ['instruction.md:3: List $dir.'],
  })
  for (const solution of ['dir=/app\nls "$dir"', 'for dir in a b; do ls $dir; done', "awk '{print $dir}' x", 'ls /app'])
    expect(judged('List $dir.', solution).outcome).toBe('ok')
  expect(judged('List $HOME.', 'ls $HOME').outcome).toBe('ok')
})

test('an order that the solution produces must be stated', () => {
  expect(hidesOrder(taskOf('List the names.'), filesOf('cut -f1 x | sort > y'))).toBe(true)
  expect(hidesOrder(taskOf('List the names in alphabetical order.'), filesOf('cut -f1 x | sort > y'))).toBe(false)
  expect(hidesOrder(taskOf('List the names.'), filesOf('cut -f1 x > y'))).toBe(false)
})

test('names and formats that the tests require must be stated', () => {
  const path = '/app/out.txt'
  const judged = (words: string, text: string) => {
    const sights = {
      ...nothing,
      before: new Map([[path, 'absent' as const]]),
      after: new Map([[path, 'file' as const]]),
    }
    const made = new Map([[path, text]])
    return checkStated(
      { told: [], tested: [{ path, line: '', where: 'tests/test.sh:1' }] },
      { ...sights, made },
      taskOf(words),
    ).reasons
  }
  expect(judged('Write it to out.txt.', 'a\n')).toEqual([])
  expect(judged('Write it down.', 'a\n')).toEqual([expect.stringMatching(/^name: /)])
  expect(judged('Write it to out.txt.', '{"a": 1}\n')).toEqual([expect.stringMatching(/^format: .*JSON/)])
  expect(judged('Write JSON to out.txt.', '{"a": 1}\n')).toEqual([])
  expect(judged('Write it to out.txt.', 'a\tb\nc\td\n')).toEqual([expect.stringMatching(/^format: .*tabs/)])
  expect(judged('Write it to out.txt.', 'a\0b\0')).toEqual([expect.stringMatching(/^format: .*NUL/)])
  expect(judged('Archive it. Write what is printed to out.txt.', 'BZh9\x17rE8P\x90\0\0')).toEqual([
    expect.stringMatching(/^format: .*binary/),
  ])
  expect(judged('Write the bytes to out.txt.', 'BZh9\x17rE8P\x90\0\0')).toEqual([])
  expect(judged('Write names, separated by null characters, to out.txt.', 'a\0b\0')).toEqual([])
  expect(judged('Pack it into out.txt.', '\u001f\ufffd\b\0\0\ufffd')).toEqual([])
  expect(judged('Pack it into out.txt.', '\u001f\ufffd\ta\nb\tc\n')).toEqual([])
})
