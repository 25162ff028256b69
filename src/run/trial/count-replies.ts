import type { Agent, AgentExit, Recorder } from '../../core/agent.ts'
import type { ModelClient, ModelRequest } from '../../core/model.ts'
import { emptyReplies, isBogusRefusal, isEmptyReply, noValidReply, refusedPrompt } from '../../core/model-replies.ts'
import { wrapClient } from '../../core/wrap-client.ts'
import { estimateTokens } from '../../lib/estimate-tokens.ts'

/** What an agent heard from its model in one round. */
export interface CountedReplies {
  readonly client: ModelClient
  /** Throws when every reply was empty; marks a round whose agent received none. */
  conclude(exit: AgentExit, agent: Agent, record: Recorder): AgentExit
}

/** Counts the replies that pass through a client, whichever agent asks for them. A small first prompt that is called too long fails its call. */
export function countReplies(client: ModelClient): CountedReplies {
  let calls = 0
  let replies = 0
  let empty = 0
  return {
    client: wrapClient(client, async (request, options) => {
      const isFirst = ++calls === 1
      const outcome = await client.complete(request, options)
      if (isFirst && outcome.kind === 'context-exceeded') {
        const tokens = tokensOf(client, request)
        if (isBogusRefusal(tokens, client.facts)) throw refusedPrompt(tokens, client.model)
      }
      if (outcome.kind !== 'reply') return outcome
      replies++
      if (isEmptyReply(outcome.reply)) empty++
      return outcome
    }),
    conclude(exit, { needsModel = false }, record) {
      if (replies > 0 && empty === replies) throw emptyReplies(replies, client.model)
      if (replies === 0 && (calls > 0 || needsModel)) record.metadata(noValidReply)
      return exit
    },
  }
}

function tokensOf(client: ModelClient, { messages, tools = [] }: ModelRequest): number {
  return client.countTokens(messages).tokens + (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0)
}
