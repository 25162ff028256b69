import { definePipeline, z } from 'ot-agent'
import { changedLines, kinds, readRecords, repository, testScript } from './bugs.ts'

/** Bugs that the analyser Infer found in Java and C#, and that were fixed: the agent has to find them again. */
export default definePipeline({
  name: 'inferredbugs',
  summary: 'Files with a bug that a static analyser found: say which kind it is, and where',
  options: z.strictObject({
    maxLines: z.number().int().min(1).default(12).describe('fixes that touch more lines do not say where the bug is'),
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
  make: ({ id, fields: { bug_type, file, line, file_before, file_after } }, { options: { maxLines } }) => {
    const isWhole = typeof file_before === 'string' && typeof file_after === 'string' && typeof file === 'string'
    if (!isWhole || typeof bug_type !== 'string' || typeof line !== 'number')
      return { drop: 'missing-field', detail: 'expected bug_type, file, line, file_before and file_after', id }
    if (!kinds.includes(bug_type)) return { drop: 'other-kind', detail: bug_type, id }
    const lines = changedLines(file_before, file_after)
    if (lines.length > maxLines) return { drop: 'fix-too-wide', detail: `${lines.length} lines`, id }
    const accepted = [...new Set([line, ...lines])].sort((a, b) => a - b)
    const name = file.replace(/^.*\//, '').replace(/[^\w.-]/g, '_')
    return {
      instruction: `A static analyser reports one bug in \`/app/${name}\`. Read the code and find it.

Write to \`/app/answer.txt\`, on one line, the kind of bug and the number of the line where it goes wrong, for example
\`${kinds[0]} 120\`. The kinds are ${kinds.map((kind) => `\`${kind}\``).join(', ')}. Lines that a fix has to change count too.
`,
      files: {
        'environment/Dockerfile': { data: `FROM debian:12-slim\n\nWORKDIR /app\nCOPY ${name} /app/${name}\n` },
        [`environment/${name}`]: { data: file_before },
        'tests/test.sh': { data: testScript(bug_type), executable: true },
        'tests/lines.txt': { data: accepted.map((number) => `${number}\n`).join('') },
        'solution/solve.sh': { data: `#!/bin/sh\necho '${bug_type} ${line}' > /app/answer.txt\n`, executable: true },
        'solution/after.txt': { data: file_after },
      },
    }
  },
})
