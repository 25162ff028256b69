import type { TokenUsage } from '../../../core/budget.ts'
import type { ModelFacts } from '../../../core/model.ts'

/** What a call cost by the known prices; null when the main two are not known. */
export function costOf(usage: TokenUsage, facts: ModelFacts): number | null {
  const { inputUsdPerToken, outputUsdPerToken } = facts
  if (inputUsdPerToken === null || outputUsdPerToken === null) return null
  const written = usage.cacheWriteTokens ?? 0
  const plain = Math.max(0, usage.inputTokens - usage.cacheTokens - written)
  return (
    plain * inputUsdPerToken +
    usage.cacheTokens * (facts.cacheUsdPerToken ?? inputUsdPerToken) +
    written * (facts.cacheWriteUsdPerToken ?? inputUsdPerToken) +
    usage.outputTokens * outputUsdPerToken
  )
}
