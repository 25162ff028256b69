import type { SandboxLease } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import { releaseSandbox, releaseSec } from '../trial/boundary.ts'
import { acceptableEnvironment } from '../trial/environment.ts'
import { startSandbox } from '../trial/start-sandbox.ts'
import type { CheckRequest } from './check-request.ts'
import { checkTrialConfig } from './trial-config.ts'

/** Builds and starts a task's environment as a trial would, and releases it when `use` has finished. Runs no agent. */
export async function withSandbox<T>(
  task: Task,
  request: CheckRequest,
  dir: string,
  use: (lease: SandboxLease) => Promise<T>,
): Promise<T> {
  const { provider, sandboxOptions, hostEnv, signal } = request
  const names = { agentName: 'nop', trialName: 'look', trialsDir: dir, sandbox: provider.name, sandboxOptions }
  const config = checkTrialConfig(task, names)
  const environment = await acceptableEnvironment(task, config, provider, request.alternatives)
  const context = { task, provider, config, jobName: 'tasks-look', dir, hostEnv, signal, log: () => {}, releaseSec }
  const lease = await startSandbox(context, environment)
  try {
    return await use(lease)
  } finally {
    await releaseSandbox(lease, context)
  }
}
