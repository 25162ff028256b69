import type { Measured, Subject } from './bench.ts'
import type { Bug } from './generate.ts'
import { reproduction } from './java-text.ts'
import { type Failed, fileOf, jarDirs, workdir } from './runner.ts'

/** A program that shows the bug, and what it gives. */
export interface Symptom {
  readonly code: string
  readonly message: string
}

const mostShown = 3

/** What a user would see of the bug: one program for each way in which it shows, short ones first. A text says why there is none. */
export function symptomsOf(
  { triggers }: Bug,
  { files }: Subject,
  { suite, failing }: Measured,
  maxLines: number,
): readonly Symptom[] | string {
  const found = triggers.flatMap((name) => {
    const failed = failing.get(name)
    if (!failed) return []
    const { className, method, line } = placeOf(name, failed)
    const text = Buffer.from(files[fileOf(suite.testRoot, className)]?.data ?? '').toString('utf8')
    const code = reproduction(text, method, line)
    return code ? [{ code, message: told(failed, method) }] : []
  })
  const short = found
    .filter(({ code }) => code.split('\n').length <= maxLines)
    .sort((a, b) => a.code.length - b.code.length)
  if (short.length === 0) return `${found.length} tests can be shown, none in ${maxLines} lines`
  const byMessage = new Map(short.toReversed().map((symptom) => [symptom.message, symptom]))
  return [...byMessage.values()].reverse().slice(0, mostShown)
}

/** Where a test stands, which may be a class above its own, and the line that the failure came from; null when it came from none, as a missing exception does. */
export function placeOf(name: string, { frames }: Failed) {
  const [own = '', method = ''] = name.replace(/\[.*$/s, '').split('::')
  // The outermost one: code under test may have a method of the same name.
  const frame = frames.findLast((each) => each.includes(`::${method}:`))
  const [, className = own, line] = /^([\w.$]+)::.*:(\d+)$/.exec(frame ?? '') ?? []
  return { className, method, line: line === undefined ? null : Number(line) }
}

/** The exception as it is printed, without the name of the test. */
function told({ message }: Failed, method: string): string {
  const text = message.join('\n').replace(/^(?:org\.junit|junit\.framework|java\.lang)\.(?=\w+(?::|$))/, '')
  const cut = text.length > 1500 ? `${text.slice(0, 1500)} ...` : text
  return cut.replaceAll(method, 'the program')
}

/** A report as a user would write it, and what a person has to know to work on it. */
export function renderInstruction(bug: Bug, symptoms: readonly Symptom[], { suite }: Measured): string {
  const { project, title } = bug
  const isError = symptoms.every(({ message }) => !/^(?:\w*Assertion\w*|ComparisonFailure)\b/.test(message))
  const shown = symptoms.map(
    ({ code, message }, i) =>
      `${i === 0 ? 'This code shows it' : 'And so does this'}:\n\n\`\`\`java\n${code}\n\`\`\`\n\nIt should run through, but it ends with:\n\n\`\`\`\n${message}\n\`\`\``,
  )
  const jars = suite.hasJars ? ` Libraries that the tests use are in \`${jarDirs.agent}\`.` : ''
  return `# ${project}: ${title ?? (isError ? 'an unexpected exception' : 'a wrong result')}

${shown.join('\n\n')}

---

The source code of the project is in \`${workdir}\`. Find the cause of the problem above and fix it below \`${workdir}/${suite.sourceRoot}\`, without breaking anything that works. Helper methods and fields that the code above uses are those of the project's tests, below \`${workdir}/${suite.testRoot}\`. A JDK and JUnit 4 are installed (\`/usr/share/java/junit4.jar\`), and there is no network.${jars} The tests that decide are not in this folder; they check more than what the report shows. They compile the code with \`javac --release 8\`.
`
}
