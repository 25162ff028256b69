import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '../../core/agent.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { runTrial, type SandboxAlternatives } from '../trial.ts'
import { checkTrialConfig } from './trial-config.ts'
import { type Check, judgeStart } from './verdict.ts'

export interface StartsAsk {
  readonly provider: SandboxProvider
  /** An agent that does nothing, fresh for every task. */
  readonly makeAgent: () => Promise<Agent>
  readonly alternatives: SandboxAlternatives
  /** The variables that templates of tasks may name (default: none). */
  readonly hostEnv?: Readonly<Record<string, string | undefined>>
  readonly concurrency: number
  readonly signal: AbortSignal
}

/** Starts the environment of every task once, in the tasks' order: `ok`, `fail`, or `unknown` after an infrastructure failure. */
export async function* checkStarts(
  tasks: readonly Task[],
  ask: StartsAsk,
): AsyncGenerator<{ readonly task: Task; readonly start: Check }, void, void> {
  yield* mapInOrder(tasks, ask.concurrency, async (task) => ({ task, start: await startOf(task, ask) }))
}

async function startOf(
  task: Task,
  { provider, makeAgent, alternatives, hostEnv = {}, signal }: StartsAsk,
): Promise<Check> {
  signal.throwIfAborted()
  const dir = await makeScratchDir(join(tmpdir(), 'ot-agent-start-'))
  try {
    const agent = await makeAgent()
    const place = {
      agentName: agent.name,
      trialName: 'start',
      trialsDir: dir,
      sandbox: provider.name,
      sandboxOptions: {},
    }
    const config = checkTrialConfig(task, place)
    const record = await runTrial({
      ...{ task, agent, provider, dir, signal, alternatives },
      config: { ...config, verifier: { ...config.verifier, disable: true } },
      ...{ jobName: 'starts', attempt: 0, retries: 0, hooks: [], hostEnv },
    })
    signal.throwIfAborted()
    return judgeStart(record)
  } finally {
    await removeDraft(dir)
  }
}
