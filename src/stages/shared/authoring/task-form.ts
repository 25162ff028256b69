import { z } from 'zod'
import type { DraftFile } from '../../../core/row.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'
import { asJson } from '../asking/forms.ts'

const script = z.string().min(10).max(50_000)

/** A whole task as a model writes it. */
export const authoredTask = z.strictObject({
  instruction: z.string().min(40).max(20_000).describe('what the agent is told'),
  files: z
    .array(
      z.strictObject({
        path: z
          .string()
          .regex(/^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\w.-]+(?:\/[\w.-]+)*$/)
          .max(200)
          .describe('relative to /app'),
        text: z.string().max(200_000),
      }),
    )
    .max(50)
    .describe('what lies in /app at the start'),
  packages: z
    .array(z.string().regex(/^[a-z0-9][a-z0-9.+-]*$/))
    .max(20)
    .describe('Debian packages that are needed beyond a plain Debian'),
  test_sh: script.describe('the script that judges the result'),
  solve_sh: script.describe('a script that solves the task'),
})
export type AuthoredTask = z.output<typeof authoredTask>

export const asTask = asJson(authoredTask, 'task')

/** Rules for every author of tests. */
export const testRules = `About the tests (test_sh, bash):
- They run once, as root, after the agent has stopped. The agent never sees them.
- They write 1 to ${sandboxPaths.verifierLogs}/reward.txt when everything asked for is right, otherwise 0. They start with reward=0 and write it in any case.
- They look at the content of results and at behaviour, by running programs with inputs of their own where that is possible. That a file exists proves nothing.
- They accept every right result, not only that of your solution, and ask for nothing that the instruction does not say.
- No network, no randomness, no dependence on time or on the order of a directory.`

/** Rules for every author of whole tasks. */
export const taskRules = `A task is solved by an agent that works alone in a terminal of a fresh Debian container, in /app, without network.
- The instruction is self-contained: exact paths, formats and rules for every result, nothing about how to do it, nothing of the solution.
- What the agent needs to start from is given in files. Keep them small.
- The solution (solve_sh, bash) really does the work from the given files; it does not print prepared answers.
${testRules}`

/** The files of a task written by a model, in Harbor's layout. */
export function filesOf({ files, packages, test_sh, solve_sh }: AuthoredTask): Readonly<Record<string, DraftFile>> {
  const install =
    packages.length === 0
      ? ''
      : `RUN apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')} && rm -rf /var/lib/apt/lists/*\n`
  const copy = files.length === 0 ? '' : 'COPY app /app\n'
  return {
    'environment/Dockerfile': { data: `FROM debian:12-slim\n\n${install}WORKDIR /app\n${copy}` },
    ...Object.fromEntries(files.map(({ path, text }) => [`environment/app/${path}`, { data: text }])),
    'tests/test.sh': { data: withShebang(test_sh) },
    'solution/solve.sh': { data: withShebang(solve_sh) },
  }
}

function withShebang(text: string): string {
  const plain = text.replaceAll('\r\n', '\n').trimEnd()
  return plain.startsWith('#!') ? `${plain}\n` : `#!/bin/bash\n${plain}\n`
}
