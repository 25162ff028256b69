import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, messageOf, UserError } from '../../../core/errors.ts'
import type { TaskDraft } from '../../../core/row.ts'
import type { Sandbox, SandboxProvider } from '../../../core/sandbox.ts'
import type { Task } from '../../../core/task.ts'
import { sandboxPaths, solutionDir, testsDir } from '../../../core/task-paths.ts'
import { saveTaskDraft } from '../../../formats/harbor-task/draft.ts'
import { loadTask } from '../../../formats/harbor-task/load.ts'
import { makeScratchDir, removeDraft } from '../../../lib/drafts.ts'

export interface ProvingAt {
  readonly sandboxes: SandboxProvider
  readonly workDir: string
  readonly signal: AbortSignal
}

/** Time limit for the solution, or for the tests, of a task under construction. */
const runSec = 300

/**
 * Runs a draft's tests in a sandbox, once without and once after its solution, and says what is wrong, worded for its
 * author; null when nothing is. It is a first look while the author can still fix it: the check of finished tasks is
 * stricter.
 */
export async function proveDraft(draft: TaskDraft, at: ProvingAt): Promise<string | null> {
  await mkdir(at.workDir, { recursive: true })
  const dir = await makeScratchDir(join(at.workDir, 'prove-'))
  try {
    const task = await loadTask(await saveTaskDraft(draft, dir))
    return (await proveIdle(task, at)) ?? (await proveSolved(task, at))
  } catch (error) {
    // Without this folder's name, which differs each time: equal problems must give equal prompts.
    const said = messageOf(error).replaceAll(`${dir}/`, '')
    if (error instanceof UserError) return said
    if (error instanceof BoundaryError && error.boundary === 'task') return `Its environment cannot be made: ${said}`
    throw error
  } finally {
    await removeDraft(dir)
  }
}

async function proveIdle(task: Task, at: ProvingAt): Promise<string | null> {
  return inSandbox(task, at, async (sandbox) => {
    const { reward, told } = await runTests(task, sandbox, at.signal)
    if (reward === null) return `The tests, run before anything was done, wrote no reward. They said:\n${told}`
    return reward >= 1 ? `The tests give the full reward although nothing was done. They said:\n${told}` : null
  })
}

async function proveSolved(task: Task, at: ProvingAt): Promise<string | null> {
  return inSandbox(task, at, async (sandbox, freeze) => {
    await sandbox.uploadDir(solutionDir(task.dir), sandboxPaths.solution)
    const solved = await sandbox.exec(['bash', `${sandboxPaths.solution}/solve.sh`], {
      ...{ timeoutSec: runSec, signal: at.signal, outputLimitBytes: 100_000 },
    })
    const { exitCode, timedOut } = solved
    if (timedOut) return `The solution did not end within ${runSec} s.`
    await freeze()
    const { reward, told } = await runTests(task, sandbox, at.signal)
    if (reward !== null && reward >= 1) return null
    const said = ending(`${solved.stdout}\n${solved.stderr}`)
    return `The tests do not accept the solution. The solution exited with ${exitCode} and said:\n${said}\nThe tests said:\n${told}`
  })
}

async function inSandbox<T>(
  { environment, digests }: Task,
  { sandboxes, signal }: ProvingAt,
  work: (sandbox: Sandbox, freeze: () => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const owner = { job: 'generate', trial: `prove-${digests.content.slice(0, 12)}` }
  await using lease = await sandboxes.lease({ owner, environment, signal })
  return await work(lease, () => lease.freeze())
}

async function runTests(
  task: Task,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<{ readonly reward: number | null; readonly told: string }> {
  await sandbox.uploadDir(testsDir(task.dir), sandboxPaths.tests)
  const { stdout, stderr } = await sandbox.exec(['bash', `${sandboxPaths.tests}/test.sh`], {
    ...{ timeoutSec: runSec, signal, outputLimitBytes: 100_000 },
  })
  const found = await sandbox.exec(['head', '-c', '100', `${sandboxPaths.verifierLogs}/reward.txt`], { signal })
  const text = found.stdout.trim()
  const reward = found.exitCode === 0 && /^[\d.]+$/.test(text) ? Number(text) : null
  return { reward, told: ending(`${stdout}\n${stderr}`) }
}

/** The end of an output, where the reasons are. */
function ending(text: string): string {
  return text.trim().slice(-3000) || '(nothing)'
}
