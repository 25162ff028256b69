import { type DraftFile, definePipeline, z } from 'ot-agent'
import { asks, testScript } from './answers.ts'
import { difficultyOf, readTask } from './read-task.ts'

const below = (dir: string, files: Readonly<Record<string, DraftFile>>) =>
  Object.fromEntries(Object.entries(files).map(([path, file]) => [`${dir}/${path}`, file]))

/** A request in words and the command that answers it: the agent gets the words and a folder made for them. */
export default definePipeline({
  name: 'nl2bash',
  summary: 'Requests about a folder; what counts is what a known shell command prints there, or makes of it',
  options: z.strictObject({
    minWords: z.number().int().min(1).default(3).describe('commands of fewer words are skipped'),
  }),
  source: {
    fixture: 'fixture.jsonl',
    real: { use: 'sources/hub', with: { repo: 'westenfelder/NL2SH-ALFA', config: 'train' } },
  },
  strategy: 'row-template',
  make: ({ fields: { nl, bash }, id }, { options, random }) => {
    if (typeof nl !== 'string' || typeof bash !== 'string')
      return { drop: 'missing-field', detail: 'expected the fields nl and bash', id }
    const read = readTask(nl, bash, options.minWords, random)
    if ('drop' in read) return { ...read, detail: `${read.detail}: ${bash.slice(0, 200)}`, id }
    const { request, command, answer, workspace, notes = [] } = read
    const make = workspace.commands.map((line) => `${line}\n`).join('')
    return {
      instruction: `Work in the folder \`/app/workspace\`; it is the current directory.\n\n${[request, ...notes].join(' ')}\n\n${asks[answer.kind]}\n`,
      metadata: { difficulty: difficultyOf(command), category: 'file-operations', tags: ['bash', answer.kind] },
      files: {
        'environment/Dockerfile': {
          data: `FROM debian:12-slim\n\nWORKDIR /app/workspace\nCOPY workspace /app/workspace\n${workspace.commands.map((line) => `RUN ${line}\n`).join('')}`,
        },
        ...below('environment/workspace', workspace.files),
        ...below('tests/workspace', workspace.files),
        'tests/make.sh': { data: `${make}:\n` },
        'tests/command.sh': { data: `${command}\n` },
        'tests/test.sh': { data: testScript(answer.kind, answer.roots) },
        'solution/solve.sh': {
          data: `#!/bin/bash\ncd /app/workspace\n${command}${answer.kind === 'state' || answer.kind === 'modes' ? '' : ' > /app/output.txt'}\n`,
        },
      },
    }
  },
})
