import { collectResults, definePipeline, judgeFileName, type NewDraft, type RubricFile, z } from 'ot-agent'
import { changedLines, kindOf, kinds, looksLikeFix, readRecords, repository, spanOf, testScript } from './bugs.ts'

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

/** Bugs that the analyser Infer found in Java and C#, and that were fixed. */
export default definePipeline({
  name: 'inferredbugs',
  summary: 'Files with a bug that a static analyser found: say which kind it is and where, or fix it',
  options: z.strictObject({
    ask: z
      .enum(['find', 'fix'])
      .default('find')
      .describe('find: the kind and the line are checked; fix: a model judges the changed file'),
    maxLines: z.number().int().min(1).default(12).describe('fixes that touch more lines do not say where the bug is'),
    maxFileLines: z.number().int().min(1).default(1000).describe('longer files are left out'),
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
    const lines = fixedLines(bug)
    if (typeof lines === 'string') return { drop: 'fix-elsewhere', detail: lines, id }
    if (lines.length > options.maxLines) return { drop: 'fix-too-wide', detail: `${lines.length} lines`, id }
    if (!looksLikeFix(kind, bug.method_before ?? bug.file_before, bug.method_after ?? bug.file_after))
      return { drop: 'no-fix', detail: `the change holds nothing that fixes ${kind}`, id }
    const name = bug.file.replace(/^.*\//, '').replace(/[^\w.-]/g, '_')
    return options.ask === 'find' ? finding(bug, kind, lines, name) : fixing(bug, kind, name, options.passAt)
  },
})

/** The lines of the file that the fix changes, within the method that the bug is in; a text says why there are none. */
function fixedLines({ line, file_before, file_after, method_before, method_after }: BugRecord): number[] | string {
  if (method_before === undefined || method_after === undefined) return changedLines(file_before, file_after)
  const method = spanOf(method_before, file_before)
  if (method === null) return 'expected the method once in its file'
  // Some reports are of another version of the file.
  if (line < method.first || line > method.last)
    return `the report is about line ${line}, the method has lines ${method.first} to ${method.last}`
  const changed = changedLines(method_before, method_after).map((number) => number + method.first - 1)
  return changed.length === 0 ? 'the fix does not change the method' : changed
}

function finding({ line, file_before, file_after }: BugRecord, kind: string, lines: number[], name: string): NewDraft {
  const accepted = [...new Set([line, ...lines])].sort((a, b) => a - b)
  return {
    instruction: `A static analyser reports one bug in \`/app/${name}\`. Read the code and find it.

Write to \`/app/answer.txt\`, on one line, the kind of bug and the number of the line where it goes wrong, for example
\`${kinds[0]} 120\`. The kinds are ${kinds.map((each) => `\`${each}\``).join(', ')}. Lines that a fix has to change count too.
`,
    files: {
      ...environment(name, file_before),
      'tests/test.sh': { data: testScript(kind), executable: true },
      'tests/lines.txt': { data: accepted.map((number) => `${number}\n`).join('') },
      'solution/solve.sh': { data: `#!/bin/sh\necho '${kind} ${line}' > /app/answer.txt\n`, executable: true },
      'solution/after.txt': { data: file_after },
    },
  }
}

/** Neither the project nor its compiler is there: a judge reads the changed file, with the fix that was made as the reference. */
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
    instruction: `A static analyser reports a bug of the kind \`${kind}\` at line ${line} of \`/app/${name}\`:

> ${qualifier.replace(/\s+/g, ' ').trim()}

Fix it in that file, with as small a change as is right. The rest of the project and its compiler are not here. A reader judges the changed file alone.
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

/** A file that was not changed is no fix, and no model has to be asked. */
function unlessSame(name: string): string {
  return collectResults([`/app/${name}`]).replace(
    'found=0\n',
    `if cmp -s /app/${name} /tests/before.txt; then\n  echo 0 > /logs/verifier/reward.txt\n  exit 0\nfi\nfound=0\n`,
  )
}

function environment(name: string, text: string): NewDraft['files'] {
  return {
    'environment/Dockerfile': { data: `FROM debian:12-slim\n\nWORKDIR /app\nCOPY ${name} /app/${name}\n` },
    [`environment/${name}`]: { data: text },
  }
}
