import { join } from 'node:path'
import type { Environment } from './task.ts'

/** Where things are inside a Linux sandbox. */
export const sandboxPaths = {
  tests: '/tests',
  solution: '/solution',
  logs: '/logs',
  agentLogs: '/logs/agent',
  verifierLogs: '/logs/verifier',
  artifacts: '/logs/artifacts',
} as const

/** The file in a trial's `agent/` that holds every model call: what was sent and what came back, word for word. */
export const exchangesName = 'exchanges.jsonl'

/** Where a run's trajectories grow while it runs, in the same directory as the files they become. */
export const journalName = 'trajectory.jsonl'

/** The file that makes a directory a task. */
export const taskFileName = 'task.toml'

/** The environment's build files: Dockerfile, docker-compose.yaml and what they copy. */
export function environmentDir(taskDir: string): string {
  return join(taskDir, 'environment')
}

/** What the agent is told; `dir` is a task's or a step's directory. */
export function instructionFile(dir: string): string {
  return join(dir, 'instruction.md')
}

/** The tests of a task or of one step. */
export function testsDir(dir: string): string {
  return join(dir, 'tests')
}

/** The oracle's files of a task or of one step. */
export function solutionDir(dir: string): string {
  return join(dir, 'solution')
}

/** The directory of one step of a multi-step task. */
export function stepDir(taskDir: string, stepName: string): string {
  return join(taskDir, 'steps', stepName)
}

/** Files put into the sandbox's working directory before a step starts. */
export function stepWorkdir(stepDir: string): string {
  return join(stepDir, 'workdir')
}

/** Name of the script in `stepWorkdir` that is run, if there is one, before the step's agent. */
export const setupScript = 'setup.sh'

/** Name of the script that runs the tests. */
export function testScript(os: Environment['os']): string {
  return os === 'windows' ? 'test.bat' : 'test.sh'
}

/** Name of the script that solves the task. */
export function solveScript(os: Environment['os']): string {
  return os === 'windows' ? 'solve.bat' : 'solve.sh'
}
