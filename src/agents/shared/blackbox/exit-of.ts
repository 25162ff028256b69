import type { AgentAt, AgentExit } from '../../../core/agent.ts'
import type { CallCounts } from '../gateway/ask-model.ts'

/** What no second call will mend. */
const hopeless = ['AuthenticationError', 'PermissionDeniedError', 'ModelNotFoundError']
/** The model's client has tried each of these calls several times already; some agents would go on for ever. */
const maxFailuresInARow = 10

/** Whether another call of the model would be in vain, so that the agent need not go on. */
export function isOver({ spentBudget, lastFailure, failuresInARow }: CallCounts): boolean {
  if (spentBudget !== null) return true
  return lastFailure !== null && (hopeless.includes(lastFailure.code) || failuresInARow >= maxFailuresInARow)
}

/** How an agent ended, given what became of its calls. An exit code of 0 proves nothing: some end so when every call failed. */
export function exitOf(exitCode: number, counts: CallCounts, at: AgentAt): AgentExit {
  if (counts.spentBudget !== null) return { kind: 'limit', limit: 'cost' }
  if (counts.succeeded > 0 && exitCode === 0) return { kind: 'finished' }
  // It gave up after a call that the model's server failed: the server is to blame, and that is no score of 0.
  if (counts.lastFailure) throw counts.lastFailure
  if (counts.succeeded > 0) return { kind: 'exited', exitCode }
  const failure = counts.calls === 0 ? 'the agent never called its model' : 'no model call produced a reply'
  at.record.log(`${failure}; its command exited with ${exitCode}`)
  at.record.metadata({ failure })
  return { kind: 'exited', exitCode: exitCode || 1 }
}
