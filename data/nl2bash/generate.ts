import { type DraftFile, definePipeline, z } from 'ot-agent'
import { refuseCommand } from './commands.ts'
import { workspaceFiles } from './workspace.ts'

/** Runs the known command in an untouched copy of the folder; an empty output asks for nothing, so it never counts. */
const testScript = `#!/bin/bash
reward=0
work=$(mktemp -d)
cp -R /tests/workspace "$work/workspace"
(cd "$work/workspace" && timeout 60 bash /tests/command.sh) > "$work/expected" 2> /dev/null
plain() { tr -d '\\r' < "$1" | sed 's/[[:space:]]*$//' | SORT_IT; }
if [ -s "$work/expected" ] && [ -f /app/output.txt ] && [ ! -L /app/output.txt ]; then
  if [ "$(plain "$work/expected")" = "$(head -c 1000000 /app/output.txt > "$work/actual"; plain "$work/actual")" ]; then
    reward=1
  fi
fi
echo "$reward" > /logs/verifier/reward.txt
`

/** Where nothing says in which order lines come, any order is right. */
const testFor = (command: string) =>
  testScript.replace(
    'SORT_IT',
    /\b(?:sort|head|tail|tac|nl|uniq|seq|sed|awk|cat)\b/.test(command) ? 'cat' : 'LC_ALL=C sort',
  )

const below = (dir: string, files: Readonly<Record<string, DraftFile>>) =>
  Object.fromEntries(Object.entries(files).map(([path, file]) => [`${dir}/${path}`, file]))

/** A request in words and the command that answers it: the agent gets the words and a folder to look at. */
export default definePipeline({
  name: 'nl2bash',
  summary: 'Questions about a folder; the answer is what a known shell command prints there',
  options: z.strictObject({
    minWords: z.number().int().min(1).default(3).describe('commands of fewer words are left out'),
  }),
  source: {
    fixture: 'fixture.jsonl',
    real: { use: 'sources/hub', with: { repo: 'westenfelder/NL2SH-ALFA', config: 'train' } },
  },
  strategy: 'row-template',
  make: ({ fields: { nl, bash }, id }, { options, random }) => {
    if (typeof nl !== 'string' || typeof bash !== 'string')
      return { drop: 'missing-field', detail: 'expected the fields nl and bash', id }
    const problem = refuseCommand(bash, options.minWords)
    if (problem !== null) return { drop: problem, detail: bash.slice(0, 200), id }
    const workspace = workspaceFiles(random)
    return {
      instruction: `Work in the folder \`/app/workspace\`.\n\n${nl.trim()}\n\nWrite what such a command prints, run in that folder, to \`/app/output.txt\`.\n`,
      files: {
        'environment/Dockerfile': {
          data: 'FROM debian:12-slim\n\nWORKDIR /app/workspace\nCOPY workspace /app/workspace\n',
        },
        ...below('environment/workspace', workspace),
        ...below('tests/workspace', workspace),
        'tests/command.sh': { data: `${bash.trim()}\n` },
        'tests/test.sh': { data: testFor(bash) },
        'solution/solve.sh': { data: `#!/bin/bash\ncd /app/workspace\n{ ${bash.trim()}\n} > /app/output.txt\n` },
      },
    }
  },
})
