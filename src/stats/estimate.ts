import type { ModelFacts } from '../core/model.ts'
import type { TrialRecord } from '../core/trial.ts'

/** What an average trial is assumed to use. */
export interface TrialAssumptions {
  readonly turns: number
  /** Summed over all turns: every turn sends the conversation again. */
  readonly inputTokens: number
  /** The part of the input that the server's prefix cache saves. */
  readonly cacheTokens: number
  readonly outputTokens: number
  /** Seconds from its start to its end. */
  readonly sec: number
  /** Where these numbers come from, for people. */
  readonly source: string
}

export interface Estimate {
  readonly trials: number
  readonly inputTokens: number
  readonly cacheTokens: number
  readonly outputTokens: number
  /** Null when no price is known. */
  readonly costUsd: number | null
  readonly hours: number
  /** Every assumption behind the result, one line each. */
  readonly assumptions: readonly string[]
}

export interface ConversationShape {
  readonly turns: number
  /** The first prompt: instruction, task and first screen. */
  readonly firstPromptTokens: number
  readonly observationTokens: number
  readonly replyTokens: number
  readonly secPerTurn: number
}

/** A typical terminal agent, used when nothing better is known; say so wherever it is used. */
export const usualConversation: ConversationShape = {
  turns: 20,
  firstPromptTokens: 2500,
  observationTokens: 700,
  replyTokens: 400,
  secPerTurn: 15,
}

/** What a conversation of a given shape adds up to when every turn sends everything said before. */
export function assumeConversation(shape: ConversationShape): TrialAssumptions {
  const { turns, firstPromptTokens, observationTokens, replyTokens, secPerTurn } = shape
  const perTurn = observationTokens + replyTokens
  const inputTokens = turns * firstPromptTokens + (perTurn * turns * (turns - 1)) / 2
  const seenBefore = Math.max(0, inputTokens - firstPromptTokens - (turns - 1) * perTurn)
  return {
    turns,
    inputTokens,
    cacheTokens: seenBefore,
    outputTokens: turns * replyTokens,
    sec: turns * secPerTurn,
    source: `assumed: ${turns} turns, a first prompt of ${firstPromptTokens} tokens, then ${replyTokens} out and ${observationTokens} in per turn, ${secPerTurn} s per turn`,
  }
}

/** Averages of earlier trials that reported their usage; null when none did. */
export function assumeFromRecords(records: Iterable<TrialRecord>): TrialAssumptions | null {
  let trials = 0
  const sum = { inputTokens: 0, cacheTokens: 0, outputTokens: 0, sec: 0, turns: 0, withTurns: 0 }
  for (const { usage, metadata, startedAt, finishedAt } of records) {
    if (usage?.inputTokens == null || usage.outputTokens === null) continue
    trials++
    sum.inputTokens += usage.inputTokens
    sum.cacheTokens += usage.cacheTokens ?? 0
    sum.outputTokens += usage.outputTokens
    sum.sec += (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000
    const turns = metadata?.n_episodes
    if (typeof turns === 'number') {
      sum.turns += turns
      sum.withTurns++
    }
  }
  if (trials === 0) return null
  return {
    turns: sum.withTurns === 0 ? 0 : sum.turns / sum.withTurns,
    inputTokens: sum.inputTokens / trials,
    cacheTokens: sum.cacheTokens / trials,
    outputTokens: sum.outputTokens / trials,
    sec: sum.sec / trials,
    source: `averages of ${trials} earlier trials that reported their usage`,
  }
}

/** What a job will take, before any of it runs: an order of magnitude with its reasons, not a promise. */
export function estimateJob(
  trials: number,
  concurrent: number,
  facts: ModelFacts | null,
  each: TrialAssumptions,
): Estimate {
  const inputTokens = Math.round(trials * each.inputTokens)
  const cacheTokens = Math.round(trials * each.cacheTokens)
  const outputTokens = Math.round(trials * each.outputTokens)
  const atOnce = Math.max(1, Math.min(concurrent, trials))
  return {
    trials,
    inputTokens,
    cacheTokens,
    outputTokens,
    costUsd: facts && priceOf({ inputTokens, cacheTokens, outputTokens }, facts),
    hours: (Math.ceil(trials / atOnce) * each.sec) / 3600,
    assumptions: [
      `per trial: ${each.source}`,
      `always ${atOnce} trials at a time, and a server that does not slow down`,
      'no retries',
      facts ? pricesLine(facts) : 'no model, so no cost',
    ],
  }
}

function priceOf(
  tokens: Pick<Estimate, 'inputTokens' | 'cacheTokens' | 'outputTokens'>,
  facts: ModelFacts,
): number | null {
  const { inputUsdPerToken, cacheUsdPerToken, outputUsdPerToken } = facts
  if (inputUsdPerToken === null || outputUsdPerToken === null) return null
  // Without a price for cached tokens, no saving is assumed.
  const cached = cacheUsdPerToken === null ? 0 : tokens.cacheTokens
  return (
    (tokens.inputTokens - cached) * inputUsdPerToken +
    cached * (cacheUsdPerToken ?? 0) +
    tokens.outputTokens * outputUsdPerToken
  )
}

function pricesLine({ inputUsdPerToken, cacheUsdPerToken, outputUsdPerToken }: ModelFacts): string {
  if (inputUsdPerToken === null || outputUsdPerToken === null) return 'the model has no known prices, so no cost'
  const million = (usd: number) => `${Number((usd * 1e6).toPrecision(6))} USD`
  const cached = cacheUsdPerToken === null ? 'no discount for cached input' : `cached ${million(cacheUsdPerToken)}`
  return `prices per million tokens: input ${million(inputUsdPerToken)}, output ${million(outputUsdPerToken)}, ${cached}`
}
