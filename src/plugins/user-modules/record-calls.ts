import { randomBytes } from 'node:crypto'
import type { Agent, AgentAt } from '../../core/agent.ts'
import { BoundaryError, isAbort } from '../../core/errors.ts'
import type { ModelClient, ModelOutcome } from '../../core/model.ts'
import { wrapClient } from '../../core/wrap-client.ts'
import { type CallRecorder, openCallRecorder } from '../../formats/atif/recorder/call-recorder.ts'

/** The same agent, whose talk with its model becomes a trajectory without its doing. One it writes itself is left as it is. */
export function recordCalls(agent: Agent): Agent {
  const solve = async (at: AgentAt) => {
    const { client, logsDir } = at
    if (client === null) return agent.solve(at)
    const { name, version } = agent
    const sessionId = randomBytes(8).toString('hex')
    const recorder = await openCallRecorder(logsDir, { name, version, model: client.model, sessionId }, at.mask)
    try {
      return await agent.solve({ ...at, client: recorded(client, recorder) })
    } finally {
      await recorder.finish()
    }
  }
  return {
    name: agent.name,
    version: agent.version,
    ...(agent.needsModel !== undefined && { needsModel: agent.needsModel }),
    ...(agent.repeats !== undefined && { repeats: agent.repeats }),
    ...(agent.check && { check: (task) => agent.check?.(task) }),
    ...(agent.toolDirs && { toolDirs: async (at) => (await agent.toolDirs?.(at)) ?? [] }),
    ...(agent.prepare && { prepare: async (at) => agent.prepare?.(at) }),
    solve,
  }
}

function recorded(client: ModelClient, recorder: CallRecorder): ModelClient {
  return wrapClient(client, async (request, options) => {
    // An agent may go on with the same list of messages: what is written down is what was asked.
    const call = recorder.begin({ ...request, messages: [...request.messages] })
    try {
      const outcome = await client.complete(request, options)
      if (outcome.kind === 'reply') call.reply(outcome.reply)
      else call.fail(...failureOf(outcome))
      return outcome
    } catch (error) {
      // What a server says may quote its key, so that only the kind of failure is written down.
      if (isAbort(error)) call.fail('Aborted', 'the time of the agent was over')
      else call.fail(error instanceof BoundaryError ? error.code : 'ModelError', 'the call came to no reply')
      throw error
    }
  })
}

function failureOf(outcome: Exclude<ModelOutcome, { kind: 'reply' }>): [code: string, message: string] {
  if (outcome.kind === 'context-exceeded') return ['ContextLengthExceededError', outcome.message]
  return ['BudgetExceededError', `the budget of ${outcome.budget} is spent`]
}
