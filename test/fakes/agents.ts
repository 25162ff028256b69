import type { Agent, AgentAt, AgentExit } from '../../src/core/agent.ts'

/** An agent made of one function. */
export function agentThat(solve: (at: AgentAt) => Promise<AgentExit>, more: Partial<Agent> = {}): Agent {
  return { name: 'fake', version: '0', solve, ...more }
}

/** Solves the fixture tasks. */
export const solver: Agent = agentThat(async (at) => {
  await at.sandbox.exec(['sh', '-c', 'echo 42 > /answer'], { signal: at.signal })
  return { kind: 'finished' }
})

/** Ignores its signal and never returns. */
export const deaf: Agent = agentThat(() => new Promise(() => {}))
