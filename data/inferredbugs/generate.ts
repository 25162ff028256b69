import { collectResults, definePipeline, judgeFileName, type NewDraft, type RubricFile, z } from 'ot-agent'
import {
  acceptedLines,
  changedLines,
  hasWord,
  kindOf,
  kinds,
  looksLikeFix,
  mayLeak,
  readRecords,
  reportedName,
  repository,
  type Span,
  spanOf,
  testScript,
} from './bugs.ts'

const record = z.object({
  bug_type: z.string(),
  qualifier: z.string().default(''),
  file: z.string(),
  line: z.number(),
  file_before: z.string(),
  file_after: z.string(),
  method_before: z.string().optional(),
  method_after: z.string().optional(),
})
type BugRecord = z.output<typeof record>

/** Bugs in Java and C# that the analyzer Infer found and that were fixed. */
export default definePipeline({
  name: 'inferredbugs',
  summary: 'Files with a bug that a static analyser found: say which kind it is and where, or fix it',
  options: z.strictObject({
    ask: z
      .enum(['find', 'fix'])
      .default('find')
      .describe('find: the kind and the line are checked; fix: a model judges the changed file'),
    maxLines: z.number().int().min(1).default(12).describe('fixes that touch more lines do not say where the bug is'),
    maxFileLines: z.number().int().min(1).default(1000).describe('longer files are skipped'),
    passAt: z.number().min(0).max(1).default(0.75).describe('fix: from this score on a change counts as right'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: ({ inputDir }) => readRecords(inputDir),
  },
  needs: ({ inputDir }) => {
    const [what, provide] = ['the records of the dataset', `git clone ${repository}, then name it with inputDir`]
    return [inputDir === null ? { kind: 'missing', what, provide } : { kind: 'folder', path: inputDir, what, provide }]
  },
  strategy: 'git-record',
  make: ({ id, fields }, { options }) => {
    const parsed = record.safeParse(fields)
    if (!parsed.success)
      return { drop: 'missing-field', detail: 'expected bug_type, file, line, file_before and file_after', id }
    const bug = parsed.data
    const kind = kindOf(bug.bug_type)
    if (kind === null) return { drop: 'other-kind', detail: bug.bug_type, id }
    const length = bug.file_before.split('\n').length
    if (length > options.maxFileLines) return { drop: 'too-long', detail: `${length} lines`, id }
    const fix = fixOf(bug)
    if (typeof fix === 'string') return { drop: 'fix-elsewhere', detail: fix, id }
    if (fix.lines.length > options.maxLines) return { drop: 'fix-too-wide', detail: `${fix.lines.length} lines`, id }
    const about = reportedName(bug.qualifier)
    if (about !== null && !hasWord(fix.before, about))
      return { drop: 'fix-elsewhere', detail: `the report is about ${about}, which the method does not have`, id }
    if (!looksLikeFix(kind, fix.before, fix.after, about))
      return { drop: 'no-fix', detail: `the change holds nothing that fixes ${kind}`, id }
    if (kind !== 'RESOURCE_LEAK' && mayLeak(fix.before))
      return { drop: 'another-bug', detail: 'the method also opens something that it does not close', id }
    const name = bug.file.replace(/^.*[\\/]/, '').replace(/[^\w.-]/g, '_')
    if (!/\w/.test(name) || name === answerName)
      return { drop: 'odd-name', detail: `the file is called ${bug.file}`, id }
    if (options.ask === 'fix') return fixing(bug, kind, name, options.passAt)
    const accepted = acceptedLines(bug, fix.lines, fix.method, fix.before)
    const { first, last } = fix.method
    if (accepted.length > fewLines && accepted.length * 2 > last - first + 1)
      return { drop: 'guessable', detail: `${accepted.length} of the method's ${last - first + 1} lines count`, id }
    return finding(bug, kind, { ...fix, lines: accepted }, name)
  },
})

const answerName = 'answer.txt'
/** This many accepted lines are fine in a short method; more than half of a longer one could be hit by chance. */
const fewLines = 4

/**
 * A method with a bug, where it is in its file, and the lines its fix changes. Without method records it is the whole
 * file.
 */
interface Fix {
  readonly before: string
  readonly after: string
  readonly method: Span
  readonly lines: readonly number[]
}

/** What the fix changes within the method with the bug; a string says why there is nothing. */
function fixOf({ line, file_before, file_after, method_before, method_after }: BugRecord): Fix | string {
  const [before, after] = [method_before ?? file_before, method_after ?? file_after]
  const method = spanOf(before, file_before)
  if (method === null) return 'expected the method once in its file'
  // Some reports are about another version of the file.
  if (line < method.first || line > method.last)
    return `the report is about line ${line}, the method has lines ${method.first} to ${method.last}`
  const lines = changedLines(before, after).map((number) => number + method.first - 1)
  return lines.length === 0 ? 'the fix does not change the method' : { before, after, method, lines }
}

/** A file may have several bugs of a kind, so the method is named; the example line is outside it. */
function finding(bug: BugRecord, kind: string, { method, lines }: Fix, name: string): NewDraft {
  const { first, last } = method
  const isWhole = bug.method_before === undefined
  const where = isWhole ? '' : `, in the method on lines ${first} to ${last}`
  return {
    instruction: `A static analyzer reports a bug in \`/app/${name}\`${where}. Read the code and find the bug.

Write one line to \`/app/${answerName}\`: the kind of bug, a space, and the number of the line where it occurs, for example \`${kinds[0]} ${last + 100}\`. The kinds are ${kinds.map((each) => `\`${each}\``).join(', ')}. Where the value or the resource comes from, where it goes wrong, and what a fix has to change all count as the line.
`,
    files: {
      ...environment(name, bug.file_before),
      'tests/test.sh': { data: testScript(kind), executable: true },
      'tests/lines.txt': { data: lines.map((number) => `${number}\n`).join('') },
      'solution/solve.sh': { data: `#!/bin/sh\necho '${kind} ${bug.line}' > /app/${answerName}\n`, executable: true },
      'solution/after.txt': { data: bug.file_after },
    },
  }
}

/**
 * Neither the project nor its compiler is available: a judge reads the changed file, with the original fix as the
 * reference.
 */
function fixing(bug: BugRecord, kind: string, name: string, passAt: number): NewDraft {
  const { line, qualifier, file_before, file_after, method_before, method_after } = bug
  const rubric: RubricFile = {
    schema: 'judge/1',
    criteria: [
      {
        name: 'bug gone',
        text: `The report no longer holds: ${qualifier} It is the cause that is mended, not the code that is removed, and no warning is merely silenced.`,
        weight: 3,
      },
      {
        name: 'same behaviour',
        text: 'Where the bug does not show, the file does what it did. Nothing else was changed but what the fix needs.',
        weight: 2,
      },
      { name: 'compiles', text: 'The changed code would compile, with every name and import that it uses.', weight: 2 },
    ],
    reference:
      `The method before:\n${method_before ?? file_before}\n\nThe method as it was fixed:\n${method_after ?? file_after}`.slice(
        0,
        50_000,
      ),
    passAt,
  }
  return {
    instruction: `A static analyzer reports a bug of the kind \`${kind}\` at line ${line} of \`/app/${name}\`:

> ${qualifier.replace(/\s+/g, ' ').trim()}

Fix it in that file, with as small a change as possible. The rest of the project and its compiler are not here. A reader judges the changed file alone.
`,
    files: {
      ...environment(name, file_before),
      'tests/test.sh': { data: unlessSame(name) },
      'tests/before.txt': { data: file_before },
      [`tests/${judgeFileName}`]: { data: `${JSON.stringify(rubric, null, 2)}\n` },
      'solution/after.txt': { data: file_after },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/after.txt" /app/${name}\n`, executable: true },
    },
  }
}

/** An unchanged file is not a fix, so no model has to be asked. */
function unlessSame(name: string): string {
  return collectResults([`/app/${name}`]).replace(
    'found=0\n',
    `if cmp -s /app/${name} /tests/before.txt; then\n  echo 0 > /logs/verifier/reward.txt\n  exit 0\nfi\nfound=0\n`,
  )
}

function environment(name: string, text: string): NewDraft['files'] {
  return {
    'environment/Dockerfile': { data: `FROM debian:12-slim\n\nWORKDIR /app\nCOPY files/${name} /app/${name}\n` },
    // In a folder of its own: the file may be named Dockerfile, or anything else with a special meaning next to it.
    [`environment/files/${name}`]: { data: text },
  }
}
