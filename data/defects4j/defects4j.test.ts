import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeCheckout } from '../../test/fakes/defects4j-checkout.ts'
import { makeTempDir } from '../../test/make-task.ts'
import { needs } from '../../test/needs.ts'
import { readJars } from './bench.ts'
import { draftOf } from './draft.ts'
import { placeOf, type Symptom, symptomsOf } from './issue.ts'
import { reproduction, superclassOf, withoutMethods } from './java-text.ts'
import { readBugs, titleInChanges, titleOf } from './rows.ts'
import { parseRun, runTestsJava, type Suite, testCommand } from './runner.ts'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const tests = `package a;

public class ATest {
    // void testB() { in a comment
    private static final String BRACE = "}";

    /** What B does. */
    @Test(timeout = 5)
    public void testB() throws Exception {
        String text = "{" + '}'; // {
        try {
            A.b(text);
            fail();
        } catch (IOException expected) {
            assertEquals(1, A.count());
        }
        assertEquals("x",
            A.c());
        assertEquals(2, A.d());
    }

    public void testC() {
        A.c();
    }
}
`

test('a test is shown up to the statement that fails', () => {
  const shown = (line: number | null) => reproduction(tests, 'a.ATest::testB', line)?.split('\n')
  expect(shown(13)?.at(0)).toBe('String text = "{" + \'}\'; // {')
  expect(shown(13)?.at(-1)).toBe('}')
  expect(shown(13)).toHaveLength(7)
  expect(shown(17)?.slice(-2)).toEqual(['assertEquals("x",', '    A.c());'])
  expect(shown(null)?.at(-1)).toBe('assertEquals(2, A.d());')
  expect(reproduction(tests, 'a.ATest::testC', 24)).toBe('A.c();')
  expect(reproduction(tests, 'a.ATest::testX', 1)).toBeNull()
})

test('a test is cut out with its comment and annotations, and nothing else', () => {
  const left = withoutMethods(tests, ['a.ATest::testB'])
  expect(left).toContain('in a comment\n    private static')
  expect(left).toMatch(/"\}";\n\n\n {4}public void testC/)
  expect(left).not.toContain('What B does')
  expect(withoutMethods(tests, ['a.ATest::testB', 'a.ATest::testX'])).toBeNull()
})

test('a test is looked up in its class, not in others in the file', () => {
  const text = `package a;

public class ATest {
    static class Inner {
        public void testB() {
            one();
        }
    }

    private final Runnable runs = new Runnable() {
        public void testB() {
            two();
        }
    };

    @Test(expected = X.class)
    public void testB() {
        three();
    }
}
`
  expect(reproduction(text, 'a.ATest::testB', null)).toBe('three();')
  expect(reproduction(text, 'a.ATest$Inner::testB', null)).toBe('one();')
  expect(reproduction(text, 'a.BTest::testB', null)).toBeNull()
  expect(reproduction(text, 'a.ATest::test.', null)).toBeNull()
  expect(reproduction(text, 'a.ATest::test(', null)).toBeNull()
  expect(withoutMethods(text, ['a.ATest::testB'])).toMatch(/one\(\)[\s\S]*two\(\)(?![\s\S]*three)/)
})

test.each([
  ['class ATest extends Above<X> implements B {', 'a.Above'],
  ['import b.c.Above;\nclass ATest extends Above {', 'b.c.Above'],
  ['class ATest extends b.Above {', 'b.Above'],
  ['class ATest {\n} // class ATest extends Above', null],
])('the class above one is read from its file: %j', (text, above) => {
  expect(superclassOf(text, 'a.ATest')).toBe(above)
})

const suite: Suite = {
  ...{ sourceRoot: 'src', testRoot: 'test', resourceDirs: [], encoding: 'UTF-8' },
  ...{ classes: ['a.ATest'], hasJars: false, isWhole: false },
}
const bug = { project: 'a', triggers: ['a.ATest::testB'], repo: 'r', patch: 'p', relevant: [], report: '' }

/** The task for a bug that fails `a.ATest::testB`, with these test files. */
function madeOf(files: Record<string, string | Uint8Array>, message: string, frames: string[] = []) {
  const failing = new Map([['a.ATest::testB', { message: [message], frames }]])
  const measured = { suite, passing: ['a.ATest::testB'], failing }
  const held = Object.entries(files).map(([path, data]) => [`test/a/${path}`, { data }])
  const subject = { files: Object.fromEntries(held), broken: new Map(), suite, triggering: ['a.ATest'], jars: {} }
  const symptoms = symptomsOf(bug, subject, measured, 60)
  if (typeof symptoms === 'string') throw new Error(symptoms)
  return draftOf(bug, subject, measured, symptoms)
}

test.each([
  ['java.lang.AssertionError: Expected exception: a.X', 'It should end with `a.X`, but it runs through.'],
  [
    'java.lang.Exception: Unexpected exception, expected<a.X> but was<a.Y>',
    'It should end with `a.X`, but it ends with `a.Y`.',
  ],
  [
    'java.lang.AssertionError: Expected test to throw an instance of a.X',
    'It should end with `a.X`, but it runs through.',
  ],
  ['java.lang.AssertionError: testB testBoth', 'it ends with:\n\n```\nAssertionError: the program testBoth\n'],
])('a report says what should happen: %s', (message, said) => {
  const { instruction } = madeOf({ 'ATest.java': tests }, message)
  expect(instruction).toContain(said)
  expect(instruction.includes('should run through')).toBe(!said.startsWith('It should end'))
})

test('a test whose name is an ordinary word does not change the message', () => {
  const message = ['org.junit.ComparisonFailure: this text is wrong']
  const failing = new Map([['a.ATest::is', { message, frames: ['a.ATest::is:4'] }]])
  const files = { 'test/a/ATest.java': { data: 'class ATest {\n  @Test\n  public void is() {\n    go();\n  }\n}\n' } }
  const subject = { files, broken: new Map(), suite, triggering: [], jars: {} }
  const symptoms = symptomsOf({ ...bug, triggers: ['a.ATest::is'] }, subject, { suite, passing: [], failing }, 9)
  expect(symptoms).toMatchObject([{ code: 'go();', message: 'ComparisonFailure: this text is wrong' }])
})

test('a test without a location is cut out of the superclass that defines it', () => {
  const own = 'package a;\nclass ATest extends Above {\n  void helper() {\n  }\n}\n'
  const above = tests.replace('class ATest', 'class Above')
  const { files, instruction } = madeOf({ 'ATest.java': own, 'Above.java': above }, 'x.E: Expected exception: a.X')
  expect(files['environment/repo/test/a/ATest.java']?.data).toBe(own)
  expect(String(files['environment/repo/test/a/Above.java']?.data)).toMatch(/^(?![\s\S]*What B does)[\s\S]*testC/)
  expect(instruction).not.toContain('which does not exist')
})

test('the report says which test class is hidden as a whole', () => {
  const other = { message: ['x.E: 1'], frames: ['a.ATest::generated:1'] }
  const failing = new Map([
    ['a.ATest::testB', { message: ['x.E: 1'], frames: [] }],
    ['a.ATest::generated', other],
  ])
  const measured = { suite, passing: [], failing }
  const files = { 'test/a/ATest.java': { data: tests } }
  const subject = { files, broken: new Map(), suite, triggering: ['a.ATest'], jars: {} }
  const draft = draftOf(bug, subject, measured, symptomsOf(bug, subject, measured, 60) as Symptom[])
  expect(draft.files).not.toHaveProperty('environment/repo/test/a/ATest.java')
  expect(draft.instruction).toContain('below `/app/test`, except for `test/a/ATest.java`, which is not there.')
})

test('a file that is not in UTF-8 keeps its bytes', () => {
  const data = Buffer.from(tests.replace('in a comment', 'caf\u00e9').replace('"x",', '"\u00e9",'), 'latin1')
  const { files, instruction } = madeOf({ 'ATest.java': data }, 'x.E: 1')
  expect(Buffer.from(files['environment/repo/test/a/ATest.java']?.data ?? '').toString('latin1')).toContain(
    '{ caf\u00e9\n',
  )
  expect(instruction).toContain('"\u00e9",')
})

test('a JUnit class among the sources replaces nothing', {
  ...needs('javac', '/usr/share/java/junit4.jar'),
  timeout: 600_000,
}, async () => {
  const dir = await makeTempDir()
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  write('app/src/org/junit/Assert.java', 'package org.junit;\npublic class Assert {\n}\n')
  write('app/src/a/A.java', 'package a;\nclass A {\n  static int one = 1;\n}\n')
  const body = '@org.junit.Test\n  public void testB() {\n    org.junit.Assert.assertEquals(1, A.one);\n  }'
  write('app/test/a/ATest.java', `package a;\npublic class ATest {\n  ${body}\n}\n`)
  write('tests/RunTests.java', runTestsJava)
  // All sources are compiled, and the compiler searches them too.
  const command = testCommand({ ...suite, isWhole: true }).replace(/\/(?:app|tests)\b/g, (path) => join(dir, path))
  const { stdout, stderr } = spawnSync('sh', ['-c', command], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: dir },
  })
  expect(stdout, stderr).toBe('ok 1 - a.ATest::testB\n')
})

test.each([
  ['[CSV-75] Ends of lines are not counted', 'CSV-75', 'Ends of lines are not counted'],
  ['LANG-693 createNumber does not work for numbers.', 'LANG-693', 'createNumber does not work for numbers'],
  ['[CSV-1] Nulls are escaped. [CSV-2] Nulls are lost (CSV-3)', 'CSV-1', 'Nulls are escaped; Nulls are lost'],
  ['CLI-1: Options are not in order. Thank you to A. This also closes #5', 'CLI-1', 'Options are not in order'],
  ['Fix NPE in Partial.with()', '93', 'NPE in Partial.with()'],
  ['Applying test and fix patch from CLI-51.', 'CLI-51', null],
  ['[CODEC-130] Provided implementation of skip', 'CODEC-130', null],
  ['Merge pull request #829 from x/y', '817', null],
  ['', '', null],
])('the title of a report is taken from %j', (message, report, title) => {
  expect(titleOf(message, report)).toBe(title)
})

test('or from the list of changes', () => {
  const xml =
    '<action issue="CODEC-187" type="fix">\n  Tokens of &quot;Bendzin&quot;\n  are wrong.</action><action issue="CODEC-18">Added a method that was missing.</action>'
  expect(titleInChanges(xml, 'CODEC-187')).toBe('Tokens of "Bendzin" are wrong')
  expect(titleInChanges(xml, 'CODEC-18')).toBeNull()
  expect(titleInChanges(xml, '')).toBeNull()
})

test('a test that failed once has failed, with its message and stack', () => {
  const run = parseRun(
    'ok 1 - a.ATest::testB\nok 2 - a.ATest::testC\nnot ok 1 - a.ATest::testB\n  | AssertionError: 1\n  | 2\n  @ a.ATest::testB:3\nok 2 - a.ATest::testC\n',
  )
  expect([...run]).toEqual([
    ['a.ATest::testB', { message: ['AssertionError: 1', '2'], frames: ['a.ATest::testB:3'] }],
    ['a.ATest::testC', null],
  ])
})

test('a test is found in its own class or a superclass', () => {
  const failed = (...frames: string[]) => ({ message: [], frames })
  const place = { className: 'a.ATest', method: 'testB', line: 3 }
  expect(placeOf('a.ATest::testB', failed('a.A::testB:89', 'a.ATest::testB:3'))).toEqual(place)
  expect(placeOf('a.ATest::testB[2]', failed('a.Above::testB:7'))).toEqual({ ...place, className: 'a.Above', line: 7 })
  expect(placeOf('a.ATest::testB', failed())).toEqual({ ...place, line: null })
})

test('a run looks for classes in JUnit and the tests before the sources', () => {
  const suite = { sourceRoot: 'm/src/main/java', testRoot: 'm/src/test/java', resourceDirs: [], encoding: 'UTF-8' }
  const command = testCommand({ ...suite, classes: ['a.ATest'], hasJars: true, isWhole: false }, 2)
  expect(command).toContain('-sourcepath /app/m/src/test/java:/app/m/src/main/java')
  expect(command).toMatch(/; cd \/app\/m; /)
  expect(command).toContain('-cp \'/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar:/tests/lib/*\':"$out":')
  expect(command).not.toContain('$(find')
  const whole = testCommand({ ...suite, classes: ['a.ATest'], hasJars: false, isWhole: true })
  expect(whole).toContain("ATest.java $(find /app/m/src/main/java -name '*.java'")
  expect(command.match(/ RunTests a\.ATest/g)).toHaveLength(2)
})

test('the newest of several versions of a jar is used', async () => {
  const dir = await makeTempDir()
  for (const name of ['h2-1.9.jar', 'h2-1.10.jar', 'junit-4.11.jar']) writeFileSync(join(dir, name), name)
  expect(Object.keys(await readJars(dir))).toEqual(['h2-1.10.jar'])
  expect(await readJars(join(dir, 'none'))).toEqual({})
})

test('the bugs in a Defects4J checkout become rows', needs('git'), async () => {
  const dir = await makeTempDir()
  const ref = makeCheckout(dir)
  const rows = await all(readBugs(dir, []))
  expect(rows).toMatchObject([
    {
      id: 'Tariffs-1',
      fields: {
        ...{ project: 'tariffs', ref, report: 'TAR-7', title: 'Heavy things have a price below zero' },
        triggers: ['org.example.tariffs.TariffTest::leavesOutWhatIsTooHeavy'],
        relevant: ['org.example.tariffs.TariffTest', 'org.example.tariffs.WeightRangeTest'],
      },
    },
    { id: 'Tariffs-2', drop: 'unreadable-row' },
  ])
  const file = join(dir, 'framework/projects/Tariffs/active-bugs.csv')
  writeFileSync(file, `id\n1,x,--output=${dir}/written,TAR-7,u\n../1,x,${ref},TAR-7,u\n`)
  expect(await all(readBugs(dir, []))).toMatchObject([{ drop: 'unreadable-row' }, { drop: 'unreadable-row' }])
  expect(existsSync(join(dir, 'written'))).toBe(false)
  await expect(all(readBugs(dir, ['Csv']))).rejects.toThrow(/projects: Defects4J has no project/)
  await expect(all(readBugs(null, []))).rejects.toThrow(/needs a checkout of Defects4J/)
})
