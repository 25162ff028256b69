import type { PairedComparison } from '../../stats/verdict.ts'
import type { RunScore } from './score-job.ts'

interface Found extends Omit<PairedComparison, 'pairs'> {
  readonly adjustedP: number
  /** How many pairs were tested together. */
  readonly tests: number
}

/** Whether two runs differ, in one sentence. */
export function sentenceOf(first: RunScore, second: RunScore, found: Found): string {
  const { difference, verdict, adjustedP, tests } = found
  const { mean, low, high, tasks } = difference
  const corrected = tests > 1 ? `, corrected for ${tests} comparisons` : ''
  const sure = `95 % interval ${signed(low)} to ${signed(high)}, ${pText(adjustedP)}${corrected}, ${tasks} ${tasks === 1 ? 'task' : 'tasks'}`
  const partial = [first, second].filter(({ state }) => state === 'partial').map(({ name }) => name)
  const caveat = partial.length === 0 ? '' : ` The result of ${partial.join(' and of ')} is partial.`
  if (verdict === 'undecided')
    return `Undecided: the difference between ${first.name} and ${second.name}, ${signed(mean)} points, is within noise (${sure}).${caveat}`
  const [better, worse] = verdict === 'first' ? [first, second] : [second, first]
  return `${better.name} is better than ${worse.name} by ${points(Math.abs(mean))} points (${sure}).${caveat}`
}

function pText(p: number): string {
  return p < 0.001 ? 'p < 0.001' : `p = ${p.toPrecision(2)}`
}

function signed(share: number): string {
  return `${share < 0 ? '−' : '+'}${points(Math.abs(share))}`
}

function points(share: number): string {
  return (share * 100).toFixed(1)
}
