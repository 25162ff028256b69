import { sandboxPaths } from '../../../core/task-paths.ts'

/** A Python program taken apart: what it defines, and the lines at its end that use it. */
export interface PythonParts {
  readonly definitions: string
  /** `print(...)` and `assert ...` at the top level. */
  readonly driver: string
  /** Functions and classes at the top level. */
  readonly names: readonly string[]
}

/** The first fenced block of Python in a text; null when there is none. */
export function pythonBlock(text: string): string | null {
  return /```(?:python3?|py)\s*\n([\s\S]*?)```/i.exec(text)?.[1] ?? null
}

/** Takes a program apart; null when it defines nothing, or does nothing with it that could be compared. */
export function takeApart(code: string): PythonParts | null {
  const kept: string[] = []
  const driver: string[] = []
  let open: string[] | null = null
  for (const line of code.replace(/\r/g, '').split('\n')) {
    const isTop = /^\S/.test(line) && !/^[)\]}]/.test(line)
    if (isTop) open = /^(?:print\s*\(|assert\b)/.test(line) ? driver : kept
    ;(open ?? kept).push(line)
  }
  const names = kept.flatMap((line) => /^(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)/.exec(line)?.[1] ?? [])
  const uses = driver.filter((line) => names.some((name) => new RegExp(`\\b${name}\\b`).test(line)))
  if (names.length === 0 || uses.length === 0) return null
  return { definitions: `${kept.join('\n').trim()}\n`, driver: `${driver.join('\n').trim()}\n`, names }
}

/**
 * Runs the same lines with the agent's definitions and with the reference's, each in a process of its own, and compares
 * what they print. Asserts have to hold. The reference must print something or assert something of itself.
 */
export function renderCodeTest(file: string): string {
  const { tests, verifierLogs } = sandboxPaths
  return `#!/bin/sh
# The lines of driver.py must do the same with the definitions of ${file} as with those of reference.py.
reward=0
work=$(mktemp -d)
run() {
  cat "$1" ${tests}/driver.py > "$work/program.py" && (cd "$work" && timeout 60 python3 -I program.py > "$2" 2> "$work/errors")
}
if [ -f ${file} ] && [ ! -L ${file} ] && run ${tests}/reference.py "$work/expected"; then
  if run ${file} "$work/actual" && cmp -s "$work/expected" "$work/actual"; then
    reward=1
  fi
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}
