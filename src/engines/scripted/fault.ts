import { z } from 'zod'
import type { ChatMessage } from '../../core/model.ts'

/** Faults of the connection or the server. */
const wireFaults = [
  'rate-limit',
  'server-error',
  'auth',
  'context-exceeded',
  'drop',
  'silence',
  'cut',
  'endless',
  'bad-utf8',
  'proxy-page',
  'not-json',
] as const

/** Mistakes of the model itself. */
const mistakes = [
  'malformed',
  'fenced',
  'missing-fields',
  'wrong-command',
  'truncated',
  'refusal',
  'empty',
  'huge',
  'repeat',
  'early-completion',
] as const

export type Mistake = (typeof mistakes)[number]

/**
 * One fault and when it occurs: every n-th request, with a probability, or always; optionally only for some tasks or
 * turns.
 */
export const faultSchema = z.strictObject({
  kind: z.enum([...wireFaults, ...mistakes]),
  every: z.number().int().positive().optional().describe('every n-th request'),
  probability: z.number().min(0).max(1).optional().describe('the chance of each request, drawn from the seed'),
  per: z
    .enum(['request', 'conversation'])
    .default('request')
    .describe('what the probability is drawn for: each request, or a conversation as a whole'),
  match: z.string().min(1).optional().describe('only for conversations that hold this text'),
  turns: z.array(z.number().int().positive()).optional().describe('only at these turns, counted from 1'),
  times: z
    .union([z.number().int().positive(), z.literal('always')])
    .optional()
    .describe('how often at one turn (default: once; always with every or probability)'),
  retry_after_sec: z.number().nonnegative().default(0.05).describe('of rate-limit'),
  status: z.number().int().min(500).max(599).default(500).describe('of server-error'),
  bytes: z
    .number()
    .int()
    .positive()
    .default(5 * 1024 * 1024)
    .describe('of huge'),
})
export type Fault = z.output<typeof faultSchema>

export function isMistake(kind: Fault['kind']): kind is Mistake {
  return mistakes.some((mistake) => mistake === kind)
}

/** What determines whether a fault occurs now. */
export interface Moment {
  /** Requests so far, including this one. */
  readonly requests: number
  /** The conversation's digest: equal conversations have equal luck. */
  readonly digest: string
  /** The digest of its first message, shared by all requests of a conversation. */
  readonly opening: string
  readonly messages: readonly ChatMessage[]
  /** Which turn to play, from 1. */
  readonly turn: number
  /** How often this turn was requested before and answered badly. */
  readonly strikes: number
}

/** The first fault that is due, or null. `draw` returns a number below 1 that is the same for equal names. */
export function faultAt(faults: readonly Fault[], moment: Moment, draw: (name: string) => number): Fault | null {
  const due = faults.find((fault, i) => isDue(fault, i, moment, draw))
  return due ?? null
}

function isDue(fault: Fault, i: number, moment: Moment, draw: (name: string) => number): boolean {
  const { every, probability, per, match, turns } = fault
  if (match !== undefined && !moment.messages.some(({ content }) => content.includes(match))) return false
  if (turns !== undefined && !turns.includes(moment.turn)) return false
  if (moment.strikes >= timesOf(fault)) return false
  if (every !== undefined && moment.requests % every !== 0) return false
  const luck = per === 'request' ? `${moment.digest} ${moment.strikes}` : moment.opening
  return probability === undefined || draw(`${i} ${luck}`) < probability
}

/** A mistake is made once per turn, so that the script continues; random ones may recur. */
function timesOf({ kind, every, probability, times }: Fault): number {
  if (times === 'always') return Number.POSITIVE_INFINITY
  const isByChance = every !== undefined || probability !== undefined
  return times ?? (isByChance && !isMistake(kind) ? Number.POSITIVE_INFINITY : 1)
}
