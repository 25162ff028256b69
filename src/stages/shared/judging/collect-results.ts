import { submissionDirName } from '../../../core/judge.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'

/** The test script of a judged task: passes every result to the judge; without a result, the judge is not called. */
export function collectResults(results: readonly string[]): string {
  const { verifierLogs } = sandboxPaths
  return `#!/bin/bash
# Collects what the judge looks at, and writes a reward itself only where there is nothing to look at.
found=0
for path in ${results.join(' ')}; do
  if [ -f "$path" ] && [ ! -L "$path" ] && [ -s "$path" ]; then
    target="${verifierLogs}/${submissionDirName}$(dirname "$path")"
    mkdir -p "$target"
    head -c 100000 "$path" > "$target/$(basename "$path")"
    found=$((found + 1))
  fi
done
[ "$found" -gt 0 ] || echo 0 > ${verifierLogs}/reward.txt
`
}
