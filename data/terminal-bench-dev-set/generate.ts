import { definePipeline, z } from 'ot-agent'
import { chores } from './chores.ts'

/**
 * Four everyday terminal chores, modeled on the handwritten ones of the original in Terminal-Bench format; the seed
 * draws their content.
 */
export default definePipeline({
  name: 'terminal-bench-dev-set',
  summary:
    'Chores in a terminal: errors of logs, a configuration of a template, branches to clean up, a table of processes',
  options: z.strictObject({}),
  source: { fixture: 'fixture.jsonl', real: null },
  strategy: 'chores',
  make: ({ fields: { chore }, id }, { random }) => {
    const draw = typeof chore === 'string' && Object.hasOwn(chores, chore) ? chores[chore] : undefined
    if (!draw) return { drop: 'unknown-chore', detail: `expected one of ${Object.keys(chores).join(', ')}`, id }
    const { ask, files, expected, solution, difficulty, setup = [] } = draw(random)
    const inside = Object.entries(files).map(([path, data]) => [`environment/work/${path}`, { data }])
    return {
      instruction: `${ask}\n`,
      metadata: { difficulty, category: 'system-administration', tags: ['bash', String(chore)] },
      files: {
        'environment/Dockerfile': {
          data: ['FROM debian:12-slim', 'WORKDIR /app', 'COPY work /app', ...setup].map((line) => `${line}\n`).join(''),
        },
        ...Object.fromEntries(inside),
        'tests/expected.txt': { data: expected.map((line) => `${line}\n`).join('') },
        'tests/test.sh': { data: test },
        'solution/solve.sh': { data: `#!/bin/bash\nset -euo pipefail\ncd /app\nexport LC_ALL=C\n${solution}\n` },
      },
    }
  },
})

/** Ignores blanks at the end of a line and empty lines at the end of the file. */
const test = `#!/bin/bash
reward=0
plain() { head -c 100000 "$1" | tr -d '\\r' | sed -e 's/[[:space:]]*$//'; }
if [ -f /app/answer.txt ] && [ ! -L /app/answer.txt ] && [ "$(plain /app/answer.txt)" = "$(plain /tests/expected.txt)" ]; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
`
