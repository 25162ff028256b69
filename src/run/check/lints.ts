import type { Task } from '../../core/task.ts'
import type { Finding, Lint } from './finding.ts'
import { existenceOnly } from './lint-existence.ts'
import {
  answerInInstruction,
  buildReachesOut,
  expectedInTheOpen,
  scriptInEnvironment,
  solutionInInstruction,
} from './lint-leaks.ts'
import { crlf, noShebang, noSolution, noTests, notExecutable, syntax } from './lint-scripts.ts'
import { instructionMissing, scaffold, systemKey } from './lint-text.ts'
import { alwaysFull, failsOpen, noReward, trustsRewardFile } from './lint-verifier.ts'
import type { TaskFiles } from './task-files.ts'

/** Every lint, in the order in which readers see the findings. */
const lints: readonly Lint[] = [
  instructionMissing,
  scaffold,
  systemKey,
  noTests,
  noSolution,
  noShebang,
  crlf,
  syntax,
  notExecutable,
  noReward,
  alwaysFull,
  existenceOnly,
  trustsRewardFile,
  failsOpen,
  buildReachesOut,
  scriptInEnvironment,
  solutionInInstruction,
  answerInInstruction,
  expectedInTheOpen,
]

/** Everything the lints find wrong with a task, errors first, without duplicates. */
export async function lintTask(task: Task, files: TaskFiles): Promise<Finding[]> {
  const found = (await Promise.all(lints.map((lint) => lint(files, task)))).flat()
  const unique = [...new Map(found.map((finding) => [JSON.stringify(finding), finding])).values()]
  return [...unique.filter((it) => it.severity === 'error'), ...unique.filter((it) => it.severity === 'warning')]
}
