import { basename } from 'node:path'
import type { Random } from '../../../lib/random.ts'
import type { Bench } from './bench.ts'
import { type Example, renderProgram } from './reproduce/example.ts'
import { renderExamples } from './reproduce/render-examples.ts'

/** The messages of failing tests, line by line, without code locations. */
export function findSymptoms(log: string): string[] {
  const telling = log
    .split('\n')
    .map((line) => line.replace(/^[\s#E>]+/, '').trim())
    .filter((line) => line.length <= 300 && symptom.test(line) && !place.test(line))
  return [...new Set(telling)].slice(0, 8)
}

const symptom = /^(?:\w*(?:Error|Exception)\b.*:|(?:expected|actual|error|got|wanted)\s*:)\s*\S/i
/** Paths with a line number, stack frames, and test runner messages. */
const place = /:\d+(?::\d+)?\)?$|^at |\bFile "|node:internal|error: \|-?$|ERR_TEST_FAILURE|\(.*\.[jt]s.*\)/

export interface IssueFacts {
  readonly name: string
  readonly workdir: string
  readonly failToPass: readonly string[]
  /** The output of failing tests, for projects whose tests cannot be turned into programs. */
  readonly symptoms: readonly string[]
  readonly examples: readonly Example[]
  readonly commands: readonly string[]
  readonly areTestsVisible: boolean
}

/**
 * An issue as a user would write it: a program, its result, and the expected result. Null when nothing can be shown.
 */
export function renderIssue({ name, failToPass, symptoms, examples }: IssueFacts, random: Random): string | null {
  const [first, ...others] = examples
  if (first) return renderExamples(name, [first, ...more(first, others, failToPass)], random)
  if (symptoms.length === 0) return null
  const opening = random.pick([
    'Since a recent change it no longer behaves as it did.',
    'With the current version I get wrong results.',
  ])
  return [`# ${name}: wrong results`, '', opening, '', 'This is what I see:', '', '```', ...symptoms, '```'].join('\n')
}

/** Adds a second program if its result differs, which is likelier the more tests fail. */
function more(first: Example, others: readonly Example[], failToPass: readonly string[]): readonly Example[] {
  if (failToPass.length < 2) return []
  const isNew = ({ program, actual }: Example) =>
    program.expr !== first.program.expr && actual.text !== first.actual.text && !/^(?:True|False)$/.test(actual.text)
  return others.filter((other) => isNew(other) && renderProgram(other).length < 500).slice(0, 1)
}

/** The issue plus everything needed to work on it. */
export function renderInstruction(issue: string, { workdir, commands, areTestsVisible }: IssueFacts): string {
  const tests = areTestsVisible
    ? `Its tests are run with \`${commands.join(' && ')}\`; changes to the tests themselves do not count.`
    : 'The tests that decide are not in this folder; they check more than what the report shows.'
  return `${issue.trim()}\n\n---\n\nThe source code of the project is in \`${workdir}\`. Find the cause of the problem above and fix it there, without breaking anything that works. ${tests}\n`
}

/**
 * The part of an issue that gives the bug away: the changed lines, the file, or a place in it. Null when there is none.
 */
export function findLeak(
  text: string,
  changed: Readonly<Record<string, string>>,
  { files }: Pick<Bench, 'files'>,
  tests: readonly string[] = [],
): string | null {
  const squeezed = squeeze(text)
  const test = tests.find((name) => squeezed.includes(plainTestName(name)))
  if (test !== undefined) return `names the test ${plainTestName(test)}`
  for (const [path, after] of Object.entries(changed)) {
    if (squeezed.includes(path)) return `names the file ${path}`
    if (new RegExp(`${escaped(basename(path))}\\b\\W{0,3}(?:line\\W{0,3})?\\d`, 'i').test(squeezed))
      return `names a line of ${basename(path)}`
    const before = String(Buffer.from(files[path]?.data ?? ''))
    const line = changedLines(before, after).find((candidate) => squeezed.includes(candidate))
    if (line !== undefined) return `holds a line of the patch: ${line.slice(0, 80)}`
  }
  if (/^(?:diff --git|@@ -\d|[+-]{3} [ab]\/)/m.test(text)) return 'holds a patch'
  if (/\b[0-9a-f]{40,64}\b/.test(text)) return 'holds a digest'
  return null
}

/** Lines that are on one side only and are distinctive enough. */
function changedLines(before: string, after: string): string[] {
  const [old, fresh] = [before, after].map((text) => text.split('\n').map(squeeze))
  const [oldSet, freshSet] = [new Set(old), new Set(fresh)]
  const lines = [
    ...(old ?? []).filter((line) => !freshSet.has(line)),
    ...(fresh ?? []).filter((line) => !oldSet.has(line)),
  ]
  return lines.filter((line) => line.length >= 10 && /\W/.test(line.replace(/\s/g, '')))
}

/** A test's own name, without file, class and parameters; a test named by a sentence keeps the whole sentence. */
export function plainTestName(name: string): string {
  const [, own = name] = /(?:^|::|\.)(test\w*)(?:\[.*\])?$/s.exec(name) ?? []
  return squeeze(own)
}

/** A text with normalized white space, so that line breaks do not matter. */
export function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function escaped(text: string): string {
  return text.replace(/[^\w]/g, '\\$&')
}
