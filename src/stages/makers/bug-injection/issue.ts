import { basename } from 'node:path'
import type { Bench } from './bench.ts'

/** What failing tests said, line by line, without where in the code it happened. */
export function findSymptoms(log: string): string[] {
  const telling = log
    .split('\n')
    .map((line) => line.replace(/^[\s#E>]+/, '').trim())
    .filter((line) => line.length <= 300 && symptom.test(line) && !place.test(line))
  return [...new Set(telling)].slice(0, 8)
}

const symptom = /^(?:\w*(?:Error|Exception)\b.*:|(?:expected|actual|error|got|wanted)\s*:)\s*\S/i
/** Paths with a line number, stack frames, and words of the test runner. */
const place = /:\d+(?::\d+)?\)?$|^at |\bFile "|node:internal|error: \|-?$|ERR_TEST_FAILURE|\(.*\.[jt]s.*\)/

export interface IssueFacts {
  readonly name: string
  readonly workdir: string
  readonly failToPass: readonly string[]
  readonly symptoms: readonly string[]
  readonly commands: readonly string[]
  readonly areTestsVisible: boolean
}

/** An issue made of what can be seen from outside: which behaviour fails, and how. */
export function renderIssue({ name, failToPass, symptoms }: IssueFacts): string {
  const shown = failToPass.slice(0, 6).map((test) => `- ${test}`)
  const more = failToPass.length > shown.length ? [`- and ${failToPass.length - shown.length} more of the kind`] : []
  const seen = symptoms.length > 0 ? ['', 'What it says when it goes wrong:', '', '```', ...symptoms, '```'] : []
  const is = failToPass.length === 1 ? 'One thing' : `${failToPass.length} things`
  return [
    `# ${name}: ${is} that used to work no longer ${failToPass.length === 1 ? 'does' : 'do'}`,
    '',
    'These checks of its behaviour fail:',
    '',
    ...[...shown, ...more, ...seen],
  ].join('\n')
}

/** The issue with what a person has to know to work on it. */
export function renderInstruction(issue: string, { workdir, commands, areTestsVisible }: IssueFacts): string {
  const tests = areTestsVisible
    ? `Its tests are run with \`${commands.join(' && ')}\`; changes to the tests themselves do not count.`
    : 'Its tests are not here, but they decide in the end.'
  return `${issue.trim()}\n\n---\n\nThe project is in \`${workdir}\`. Find the cause in its source code and fix it, without breaking anything that works. ${tests}\n`
}

/** What gives the bug away when it stands in the issue: the changed lines, the file, a place in it. Null: nothing does. */
export function findLeak(
  text: string,
  changed: Readonly<Record<string, string>>,
  { files }: Pick<Bench, 'files'>,
): string | null {
  const squeezed = squeeze(text)
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

/** Lines that are on one side only, and say enough to be found by. */
function changedLines(before: string, after: string): string[] {
  const [old, fresh] = [before, after].map((text) => text.split('\n').map(squeeze))
  const [oldSet, freshSet] = [new Set(old), new Set(fresh)]
  const lines = [
    ...(old ?? []).filter((line) => !freshSet.has(line)),
    ...(fresh ?? []).filter((line) => !oldSet.has(line)),
  ]
  return lines.filter((line) => line.length >= 10 && /\W/.test(line.replace(/\s/g, '')))
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function escaped(text: string): string {
  return text.replace(/[^\w]/g, '\\$&')
}
