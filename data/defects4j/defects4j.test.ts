import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeCheckout } from '../../test/fakes/defects4j-checkout.ts'
import { makeTempDir } from '../../test/make-task.ts'
import { needs } from '../../test/needs.ts'
import { readJars } from './bench.ts'
import { placeOf } from './issue.ts'
import { reproduction, withoutMethods } from './java-text.ts'
import { readBugs, titleInChanges, titleOf } from './rows.ts'
import { parseRun, testCommand } from './runner.ts'

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
  const shown = (line: number | null) => reproduction(tests, 'testB', line)?.split('\n')
  expect(shown(13)?.at(0)).toBe('String text = "{" + \'}\'; // {')
  expect(shown(13)?.at(-1)).toBe('}')
  expect(shown(13)).toHaveLength(7)
  expect(shown(17)?.slice(-2)).toEqual(['assertEquals("x",', '    A.c());'])
  expect(shown(null)?.at(-1)).toBe('assertEquals(2, A.d());')
  expect(reproduction(tests, 'testC', 24)).toBe('A.c();')
  expect(reproduction(tests, 'testX', 1)).toBeNull()
})

test('a test is cut out with its comment and annotations, and nothing else', () => {
  const left = withoutMethods(tests, ['testB'])
  expect(left).toContain('in a comment\n    private static')
  expect(left).toMatch(/"\}";\n\n\n {4}public void testC/)
  expect(left).not.toContain('What B does')
  expect(withoutMethods(tests, ['testB', 'testX'])).toBeNull()
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

test('a test that failed once has failed, with its message and where it came from', () => {
  const run = parseRun(
    'ok 1 - a.ATest::testB\nok 2 - a.ATest::testC\nnot ok 1 - a.ATest::testB\n  | AssertionError: 1\n  | 2\n  @ a.ATest::testB:3\nok 2 - a.ATest::testC\n',
  )
  expect([...run]).toEqual([
    ['a.ATest::testB', { message: ['AssertionError: 1', '2'], frames: ['a.ATest::testB:3'] }],
    ['a.ATest::testC', null],
  ])
})

test('a test is found in its own class, or in one above it', () => {
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
  expect(command).not.toContain('find')
  const whole = testCommand({ ...suite, classes: ['a.ATest'], hasJars: false, isWhole: true })
  expect(whole).toContain("ATest.java $(find /app/m/src/main/java -name '*.java'")
  expect(command.match(/ RunTests a\.ATest/g)).toHaveLength(2)
})

test('of several versions of a jar the newest is taken', async () => {
  const dir = await makeTempDir()
  for (const name of ['h2-1.9.jar', 'h2-1.10.jar', 'junit-4.11.jar']) writeFileSync(join(dir, name), name)
  expect(Object.keys(await readJars(dir))).toEqual(['h2-1.10.jar'])
  expect(await readJars(join(dir, 'none'))).toEqual({})
})

test('bugs of a checkout of Defects4J become rows', needs('git'), async () => {
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
  await expect(all(readBugs(dir, ['Csv']))).rejects.toThrow(/projects: expected names of projects/)
  await expect(all(readBugs(null, []))).rejects.toThrow(/expected a checkout of Defects4J/)
})
