import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Agent, AgentAt, AgentExit } from '../core/agent.ts'
import { resolveEnv } from '../core/env-template.ts'
import { BoundaryError } from '../core/errors.ts'
import { definePlugin } from '../core/plugin.ts'
import { sandboxPaths, solutionDir, solveScript } from '../core/task-paths.ts'
import { statOrNull } from '../lib/disk.ts'

const script = `${sandboxPaths.solution}/${solveScript('linux')}`

type HostEnv = Readonly<Record<string, string | undefined>>

/** An agent that knows the answer: it runs the task's own solution. */
export default definePlugin({
  name: 'oracle',
  summary: "runs the task's own solution",
  options: z.strictObject({}),
  make: (_, { env }): Agent => ({
    name: 'oracle',
    version: '1.0.0',
    check: (task) => void resolveEnv(task.solution.env, env),
    solve: (at) => runSolution(at, env),
  }),
})

/** A solution with a non-zero exit code is recorded and still verified: the tests decide. */
async function runSolution(at: AgentAt, hostEnv: HostEnv): Promise<AgentExit> {
  const { dir, executable } = await findSolution(at)
  await at.sandbox.uploadDir(dir, sandboxPaths.solution)
  if (!executable) await at.sandbox.exec(['chmod', '+x', script], { user: 'root', signal: at.signal })
  const { exitCode, stderr } = await at.sandbox.exec(
    ['bash', '-c', `${script} > ${sandboxPaths.agentLogs}/oracle.txt 2>&1`],
    {
      env: { DEBIAN_FRONTEND: 'noninteractive', ...at.env, ...resolveEnv(at.task.solution.env, hostEnv) },
      ...(at.user !== undefined && { user: at.user }),
      signal: at.signal,
    },
  )
  if (exitCode !== 0) {
    // The solution's own output goes to its log; this is about why it could not even start.
    const reason = stderr.trim().slice(0, 500)
    at.record.log(`solve.sh exited with ${exitCode}${reason && `: ${reason}`}`)
    await writeFile(join(at.logsDir, 'exit-code.txt'), String(exitCode))
  }
  return { kind: 'finished' }
}

/** The step's solution, for a task with steps; otherwise the task's. */
async function findSolution(at: AgentAt): Promise<{ dir: string; executable: boolean }> {
  const dir = solutionDir(at.step?.dir ?? at.task.dir)
  const path = join(dir, solveScript('linux'))
  const found = await statOrNull(path)
  if (found?.isFile()) return { dir, executable: (found.mode & 0o111) === 0o111 }
  throw new BoundaryError('task', `task ${at.task.name} has no solution: ${path} does not exist`)
}
