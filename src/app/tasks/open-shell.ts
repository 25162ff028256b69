import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { resolveEnv } from '../../core/env-template.ts'
import { UserError } from '../../core/errors.ts'
import type { ExecResult, SandboxLease, Terminal } from '../../core/sandbox.ts'
import type { PlugInChoice } from '../../core/stage.ts'
import type { Task, User } from '../../core/task.ts'
import { sandboxPaths, solutionDir, solveScript, testScript, testsDir } from '../../core/task-paths.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { exists } from '../../lib/files.ts'
import { withSandbox } from '../../run/check/with-sandbox.ts'
import { withSpine } from '../check/spine.ts'
import type { Confirm } from '../job/consent.ts'

export interface ShellRequest {
  readonly task: string
  readonly sandbox: PlugInChoice
  readonly passEnv: readonly string[]
  /** Runs the task's solution first. */
  readonly solve: boolean
  /** Copies the task's tests to /tests. */
  readonly tests: boolean
  /** Default: the agent's. */
  readonly user: User | undefined
  /** The caller's terminal type. */
  readonly term: string
  readonly cols: number
  readonly rows: number
}

export interface ShellControl {
  readonly signal: AbortSignal
  readonly confirm?: Confirm | undefined
  readonly notify: (line: string) => void
  /** Gets the terminal until it ends or the signal closes it; returns the shell's exit code. */
  readonly use: (terminal: Terminal) => Promise<number>
}

/** Starts a task's sandbox as a trial would, opens a terminal in it, and removes the sandbox afterwards. */
export async function openShell(request: ShellRequest, control: ShellControl): Promise<number> {
  const task = await loadTask(request.task, { allowNoTests: true })
  if (task.steps.length > 0 && (request.solve || request.tests))
    throw new UserError(
      `${request.task} has ${task.steps.length} steps: --solve and --tests work only for tasks without steps`,
      'remove --solve and --tests',
    )
  if (request.solve) await refuseMissing('--solve', join(solutionDir(task.dir), solveScript('linux')))
  if (request.tests) await refuseMissing('--tests', testsDir(task.dir))
  const { sandbox, passEnv } = request
  const options = { sandbox, passEnv, repeats: 1, lintOnly: false, verifies: request.tests }
  const { notify, signal, confirm } = control
  return withSpine([task], options, { notify, signal, confirm }, (spine) =>
    withSandbox(task, spine, spine.workDir, async (lease) => {
      for (const line of lease.facts.notes) notify(line)
      if (request.solve) await runSolution(task, lease, control)
      if (request.tests) await upload(lease, testsDir(task.dir), `${sandboxPaths.tests}/${testScript('linux')}`)
      return inTerminal(task, lease, request, control)
    }),
  )
}

async function inTerminal(task: Task, lease: SandboxLease, request: ShellRequest, { signal, use }: ShellControl) {
  const { cols, rows, term } = request
  const user = request.user ?? task.agent.user
  if (task.agent.network) await lease.setNetwork(task.agent.network)
  const terminal = await lease.openTerminal({ cols, rows, env: { TERM: term }, ...(user !== undefined && { user }) })
  const close = () => void terminal.close()
  signal.addEventListener('abort', close, { once: true })
  try {
    if (signal.aborted) close()
    const exitCode = await use(terminal)
    signal.throwIfAborted()
    return exitCode
  } finally {
    signal.removeEventListener('abort', close)
    await terminal.close()
  }
}

async function runSolution(task: Task, lease: SandboxLease, { notify, signal }: ShellControl): Promise<void> {
  const script = `${sandboxPaths.solution}/${solveScript('linux')}`
  await upload(lease, solutionDir(task.dir), script)
  const { user, timeoutSec } = task.agent
  const env = { DEBIAN_FRONTEND: 'noninteractive', ...resolveEnv(task.solution.env, process.env) }
  const options = { env, ...(user !== undefined && { user }), signal, ...(timeoutSec && { timeoutSec }) }
  const ended = await lease.exec(['bash', script], options)
  notify(describe(ended))
}

function describe({ exitCode, timedOut, stderr }: ExecResult): string {
  if (timedOut) return 'the solution ran out of time'
  const last = exitCode === 0 ? '' : stderr.trim().split('\n').at(-1)
  return `the solution ended with exit code ${exitCode}${last ? `: ${last}` : ''}`
}

async function refuseMissing(flag: string, path: string): Promise<void> {
  if (!(await exists(path))) throw new UserError(`${flag}: expected ${path}, found none`, `remove ${flag}`)
}

async function upload(lease: SandboxLease, dir: string, script: string): Promise<void> {
  await lease.uploadDir(dir, dirname(script))
  const found = await stat(join(dir, basename(script))).catch(() => null)
  if (found && (found.mode & 0o111) !== 0o111) await lease.exec(['chmod', '+x', script], { user: 'root' })
}
