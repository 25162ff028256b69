import type { Resumed } from '../../core/trial.ts'

/** How one trial resumed, in words. */
export function describeResumed(resumed: Resumed): string {
  if (resumed.kind === 'not-replayed') return `started over: ${resumed.reason}`
  if (resumed.kind === 'replayed') {
    const { turns, inputTokens, outputTokens } = resumed
    return `replayed ${turns} replies of an interrupted attempt, ${inputTokens} tokens in and ${outputTokens} out not paid for again`
  }
  const { step, turn, message, what, expected, got } = resumed
  const where = [step === null ? '' : `step ${step}, `, `turn ${turn}`, message === null ? '' : `, message ${message}`]
  return `started over: the replay diverged at ${where.join('')}: ${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`
}
