import { z } from 'zod'
import type { Expectation } from '../../../core/stage.ts'

/** The assumed use of a rollout, for a forecast; it does not affect any result. */
export const assumedOptions = {
  assume: z
    .strictObject({
      turns: z.number().positive().default(20),
      firstPromptTokens: z.number().nonnegative().default(2500).describe('Instruction, task and first screen.'),
      observationTokens: z.number().nonnegative().default(700),
      replyTokens: z.number().nonnegative().default(400),
      secPerTurn: z.number().nonnegative().default(15),
      yield: z.number().min(0).max(1).default(1).describe('Of the trials, those that leave a trace.'),
    })
    .prefault({}),
  prices: z
    .strictObject({ input: z.number().nonnegative(), output: z.number().nonnegative() })
    .optional()
    .describe('USD per million tokens; without prices no cost is reported.'),
}

type Assumed = z.output<z.ZodObject<typeof assumedOptions>>

/** Forecasts a number of rollouts: every turn resends everything said before. */
export function expectRollouts(rollouts: number | null, concurrency: number, { assume, prices }: Assumed): Expectation {
  const { turns, firstPromptTokens, observationTokens, replyTokens, secPerTurn } = assume
  const input = turns * firstPromptTokens + ((observationTokens + replyTokens) * turns * (turns - 1)) / 2
  const output = turns * replyTokens
  const times = (each: number) => (rollouts === null ? null : rollouts * each)
  const cost = prices === undefined ? null : (input * prices.input + output * prices.output) / 1e6
  return {
    rows: rollouts === null ? null : Math.round(rollouts * assume.yield),
    rollouts,
    modelCalls: times(turns),
    tokens: times(input + output),
    costUsd: cost === null ? null : times(cost),
    hours: rollouts === null ? null : (Math.ceil(rollouts / concurrency) * turns * secPerTurn) / 3600,
    assumes: [
      `a rollout has ${turns} turns of ${secPerTurn} s, a first prompt of ${firstPromptTokens} tokens, then ${replyTokens} out and ${observationTokens} in per turn`,
      `always ${concurrency} rollouts at a time, no retries, no discount for cached input`,
      prices === undefined
        ? 'no prices are set, so no cost'
        : `a million tokens cost ${prices.input} USD in and ${prices.output} USD out`,
    ],
  }
}
