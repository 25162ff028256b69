import { setMaxListeners } from 'node:events'
import type { Account } from '../../../core/budget.ts'
import { UserError } from '../../../core/errors.ts'
import type { ModelClient } from '../../../core/model.ts'
import { expired, withDeadline } from '../../../lib/deadline.ts'
import { Call, type Conversation } from './call.ts'
import { makeTokenCounter } from './count-tokens.ts'
import { withDefaults } from './request-params.ts'
import { knownFacts, type Server } from './server.ts'

/** Makes a client for one model of a server; the account pays for its calls. */
export function makeClient(server: Server, model: string, account: Account | null): ModelClient {
  const { inputUsdPerToken, outputUsdPerToken } = server.facts
  if (account?.needsPrices && (inputUsdPerToken === null || outputUsdPerToken === null)) {
    throw new UserError(
      `model ${model}: a budget in USD needs the model's prices, found none`,
      'give model_info with input_cost_per_token and output_cost_per_token, or limit tokens or requests instead',
    )
  }
  const counter = makeTokenCounter()
  const conversation: Conversation = { replica: null, calls: 0 }
  return {
    model,
    get facts() {
      return knownFacts(server, model)
    },
    countTokens: counter.count,
    async complete(request, { timeoutSec = null, deadline, signal = new AbortController().signal, ...hearing } = {}) {
      // One signal may stop a thousand calls.
      setMaxListeners(0, signal)
      const leftMs = deadline ? deadline.getTime() - Date.now() : Number.POSITIVE_INFINITY
      const waitsUntil = performance.now() + Math.min(leftMs, (timeoutSec ?? Number.POSITIVE_INFINITY) * 1000)
      const call = new Call(
        server,
        model,
        account,
        counter,
        withDefaults(request, server.defaults),
        waitsUntil,
        hearing,
        conversation,
      )
      conversation.calls++
      const outcome = await withDeadline(timeoutSec, signal, (inner) => call.run(inner)).finally(() => {
        conversation.calls--
      })
      if (outcome !== expired) return outcome
      throw call.failure('ApiTimeoutError', `no reply within ${timeoutSec} s`, true)
    },
  }
}
