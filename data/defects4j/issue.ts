import type { Measured, Subject } from './bench.ts'
import type { Bug } from './generate.ts'
import { readJava, reproduction, superclassOf } from './java-text.ts'
import { type Failed, fileOf, jarDirs, workdir } from './runner.ts'

/** A program that shows the bug, and its output. */
export interface Symptom {
  readonly code: string
  /** The test file it comes from. */
  readonly path: string
  readonly message: string
  /** The exception it should end with; null if it should end normally. */
  readonly expected: string | null
}

const mostShown = 3

/**
 * What a user would see of the bug: one program for each way it shows, shortest first. A string says why there is none.
 */
export function symptomsOf(
  { triggers }: Bug,
  subject: Subject,
  measured: Measured,
  maxLines: number,
): readonly Symptom[] | string {
  const found = triggers.flatMap((name) => {
    const failed = measured.failing.get(name)
    if (!failed) return []
    const { path, test, method, line } = homeOf(name, failed, subject, measured)
    const code = reproduction(readJava(subject.files[path]?.data ?? '').text, test, line)
    return code ? [{ code, path, message: told(failed, method), expected: expectedOf(failed) }] : []
  })
  const short = found
    .filter(({ code }) => code.split('\n').length <= maxLines)
    .sort((a, b) => a.code.length - b.code.length)
  if (short.length === 0) return `${found.length} tests can be shown, none in ${maxLines} lines`
  const byMessage = new Map(short.toReversed().map((symptom) => [symptom.message, symptom]))
  return [...byMessage.values()].reverse().slice(0, mostShown)
}

/**
 * Where a test is defined, possibly in a superclass, and the line the failure came from; null if there is no such line,
 * as with a missing exception.
 */
export function placeOf(name: string, { frames }: Failed) {
  const [own = '', method = ''] = name.replace(/\[.*$/s, '').split('::')
  // The outermost one: code under test may have a method with the same name.
  const frame = frames.findLast((each) => each.includes(`::${method}:`))
  const [, className = own, line] = /^([\w.$]+)::.*:(\d+)$/.exec(frame ?? '') ?? []
  return { className, method, line: line === undefined ? null : Number(line) }
}

/** The same, with the file; without a line number, superclasses are searched for the test. `test` is its name there. */
export function homeOf(name: string, failed: Failed, { files }: Subject, { suite }: Measured) {
  const { className: own, method, line } = placeOf(name, failed)
  const seen = new Set<string>()
  let className: string | null = own
  while (line === null && className !== null && !seen.has(className)) {
    const { text } = readJava(files[fileOf(suite.testRoot, className)]?.data ?? '')
    if (reproduction(text, `${className}::${method}`, null) !== null) break
    seen.add(className)
    className = superclassOf(text, className)
  }
  const home = className === null || seen.has(className) ? own : className
  return { path: fileOf(suite.testRoot, home), test: `${home}::${method}`, method, line }
}

/**
 * The exception as printed, without the name of the test. A name that is an ordinary word gives nothing away and may be
 * part of the message.
 */
function told({ message }: Failed, method: string): string {
  const text = message.join('\n').replace(/^(?:org\.junit|junit\.framework|java\.lang)\.(?=\w+(?::|$))/, '')
  const cut = text.length > 1500 ? `${text.slice(0, 1500)} ...` : text
  if (/^[a-z]*$/.test(method)) return cut
  return cut.replace(new RegExp(`(?<![\\w$])${method.replace(/\W/g, '\\$&')}(?![\\w$])`, 'g'), 'the program')
}

/** What `@Test(expected = ...)` says, in JUnit's words. */
function expectedOf({ message: [line = ''] }: Failed): string | null {
  const [, name] =
    /^\S+: (?:Expected exception: |Unexpected exception, expected<|Expected test to throw \(?an instance of )([\w.$]+)/.exec(
      line,
    ) ?? []
  return name ?? null
}

/** A report as a user would write it, and what one has to know to work on it. */
export function renderInstruction(
  { project, title }: Bug,
  symptoms: readonly Symptom[],
  { suite }: Measured,
  hidden: readonly string[],
): string {
  const shown = symptoms.map(
    (symptom, i) =>
      `${i === 0 ? 'This code shows it' : 'And so does this'}:\n\n\`\`\`java\n${symptom.code}\n\`\`\`\n\n${renderEnd(symptom)}`,
  )
  const gone = hidden.filter((path) => symptoms.some((symptom) => symptom.path === path))
  const but =
    gone.length === 0 ? '' : `, except for ${gone.map((path) => `\`${path}\``).join(' and ')}, which is not there`
  const jars = suite.hasJars ? ` Libraries that the tests use are in \`${jarDirs.agent}\`.` : ''
  return `# ${project}: ${title ?? kindOf(symptoms)}

${shown.join('\n\n')}

---

The source code of the project is in \`${workdir}\`. Find the cause of the problem above and fix it below \`${workdir}/${suite.sourceRoot}\`, without breaking anything that works. Helper methods and fields that the code above uses are those of the project's tests, below \`${workdir}/${suite.testRoot}\`${but}. A JDK and JUnit 4 are installed (\`/usr/share/java/junit4.jar\`), and there is no network.${jars} The tests that decide are not in this folder; they check more than what the report shows. They compile the code with \`javac --release 8\`.
`
}

function renderEnd({ message, expected }: Symptom): string {
  if (expected === null) return `It should run through, but it ends with:\n\n\`\`\`\n${message}\n\`\`\``
  const [, actual] = /but was<([\w.$]+)>/.exec(message) ?? []
  return `It should end with \`${expected}\`, but it ${actual === undefined ? 'runs through' : `ends with \`${actual}\``}.`
}

function kindOf(symptoms: readonly Symptom[]): string {
  const isFailure = ({ message }: Symptom) => /^(?:\w*Assertion\w*|ComparisonFailure)\b/.test(message)
  if (!symptoms.some(isFailure)) return 'an unexpected exception'
  return symptoms.every((symptom) => symptom.expected !== null) ? 'a missing exception' : 'a wrong result'
}
