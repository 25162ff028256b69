import { z } from 'zod'
import { refuseIn, refuseIssue } from '../harbor-task/schema.ts'
import { parseYaml } from './task-yaml.ts'

/** Runs the tests as Terminal-Bench did; their exit code decides the reward, whatever they do to their shell. */
export const testScript = `#!/bin/bash
export TEST_DIR=/tests

bash /tests/run-tests.sh
status=$?

if [ "$status" -eq 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
exit "$status"
`

/** The lines before and after the verdict that run-tests.sh prints for a Terminal-Bench parser. */
const verdictLines: Readonly<Record<string, readonly [string, string]>> = {
  swebench: ['SWEBench results starts here', 'SWEBench results ends here'],
}

/** The test script for tasks with this parser; null if the parser is unknown. */
export function testScriptFor(parserName: string): string | null {
  if (parserName === 'pytest') return testScript
  const lines = Object.hasOwn(verdictLines, parserName) ? verdictLines[parserName] : undefined
  return lines === undefined ? null : verdictScript(...lines)
}

/**
 * Runs the tests and uses the verdict they print last, which ignores tests that failed before the change and may keep
 * failing. Tests that end without a verdict were inconclusive, so they give no reward.
 */
const verdictScript = (start: string, end: string) => `#!/bin/bash
export TEST_DIR=/tests

bash /tests/run-tests.sh > /logs/verifier/run-tests.txt 2>&1
status=$?
cat /logs/verifier/run-tests.txt

last=$(grep -v '^[[:space:]]*$' /logs/verifier/run-tests.txt | tail -n 3 | tr -d '\\r')
case "$status $last" in
  $'0 ${start}\\nPASSED\\n${end}') echo 1 > /logs/verifier/reward.txt ;;
  $'0 ${start}\\nFAILED\\n${end}') echo 0 > /logs/verifier/reward.txt ;;
  *)
    echo "run-tests.sh exited with $status and printed no verdict: no reward"
    exit 1
    ;;
esac
`

/** The solution as a bash script, because Terminal-Bench ran it with bash whatever its first line says. */
export function renderSolution(script: string): string {
  return /^#!.*\bbash\b/.test(script) ? script : `#!/bin/bash\n${script}`
}

const command = z.object(
  {
    command: z.string({ error: 'a command' }),
    append_enter: z.boolean({ error: 'true or false' }).default(true),
  },
  { error: 'a map with a command' },
)
const commands = z.array(command, { error: 'a list of commands' })

/** Names of keys that are pressed rather than typed. */
const key = /^((C|M|S)-.|Enter|Escape|Tab|Space|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|F\d+)$/

/** The commands of a solution.yaml as a script; null if it presses keys in a program, which a script cannot do. */
export function renderCommands(text: string, file: string): string | null {
  const raw = parseYaml(text, file)
  const parsed = commands.safeParse(raw)
  if (!parsed.success) return refuseIssue(parsed.error, raw, refuseIn(file))
  const isTyped = parsed.data.every(({ command, append_enter }) => append_enter && !key.test(command.trim()))
  if (!isTyped) return null
  return `#!/bin/bash\n\n${parsed.data.map(({ command }) => command).join('\n')}\n`
}
