import type { ChatMessage, ModelRequest } from '../../core/model.ts'
import type { Fault } from './fault.ts'
import { type Manner, mannerOf } from './manner.ts'
import { type Progress, progressMark, progressOf } from './progress.ts'
import { renderTurn, type Speech } from './render-turn.ts'
import { completion, giveUp, type Turn, work } from './turn.ts'

type SpokenTurn = Exclude<Turn, { kind: 'fault' }>

/** What to say next in a conversation, if nothing goes wrong. */
export interface NextTurn {
  readonly turn: SpokenTurn
  /** The turn before it; null at the beginning. */
  readonly last: SpokenTurn | null
  readonly manner: Manner
  /** Which turn this is, from 1. */
  readonly number: number
  /** Replies for this turn that were ineffective. */
  readonly wasted: number
  /** A fault that the script prescribes instead. */
  readonly fault: Fault | null
}

/** After this many waits, a command is given up on. */
const maxWaits = 60

/**
 * Finds the next turn of a script from the conversation alone; `before` is how often this same conversation was asked
 * before.
 */
export function nextTurn(request: ModelRequest, turns: readonly Turn[] | null, before: number): NextTurn {
  const manner = mannerOf(request)
  const progress = progressOf(request.messages, turns ?? [], manner)
  const last = turns?.slice(0, progress.next).findLast((turn) => turn.kind !== 'fault') ?? null
  const base = { manner, last, number: progress.next + 1, wasted: progress.wasted, fault: null }
  if (asksForProse(request.messages)) return { ...base, turn: prose(progress, turns?.length ?? 0) }
  if (turns === null) return { ...base, turn: giveUp }
  if (mustWait(progress, turns, manner)) return { ...base, wasted: 0, turn: waiting }
  const { faults, turn, number } = afterFaults(turns, progress.next)
  return { ...base, turn, number, fault: faults[before] ?? null }
}

/** The turn of the n-th request, whatever its content. */
export function turnInOrder(request: ModelRequest, turns: readonly Turn[], number: number): NextTurn {
  const turn = turns[number - 1] ?? completion
  const manner = mannerOf(request)
  const base = { manner, last: null, number, wasted: 0 }
  return turn.kind === 'fault' ? { ...base, turn: completion, fault: turn.fault } : { ...base, turn, fault: null }
}

function afterFaults(turns: readonly Turn[], next: number) {
  const faults: Fault[] = []
  for (let i = next; ; i++) {
    const turn = turns[i] ?? completion
    if (turn.kind !== 'fault') return { faults, turn, number: i + 1 }
    faults.push(turn.fault)
  }
}

const waiting = work({
  analysis: 'The command is still running.',
  plan: 'Wait for it.',
  commands: [{ keystrokes: '', durationSec: 30 }],
})

/** Only a terminal shows a command that is still running; a tool returns when it has finished. */
function mustWait({ next, wasted, heard }: Progress, turns: readonly Turn[], manner: Manner): boolean {
  const last = turns[next - 1]
  if (manner.kind !== 'json' && manner.kind !== 'xml') return false
  if (last?.kind !== 'work' || last.until === null || heard === null || wasted > maxWaits) return false
  return !last.until.test(heard)
}

/**
 * When a conversation grows too long, agents also ask for a summary of the work, and for questions and answers about
 * it.
 */
function asksForProse(messages: readonly ChatMessage[]): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'user') return false
  const head = last.content.slice(0, 250)
  return handover.test(head) && !/terminal (state|output|screen)|^here are the answers/i.test(head)
}

const handover =
  /summari[sz]e|summary|(hand|tak|pick)(s|es|e|ing)? ?(off|over|up)|(another|next|previous|other) (ai )?agent/i

/** Says how far the script has come, so that a summary can pass it on. */
function prose({ next }: Progress, total: number): NextTurn['turn'] {
  const text = `The work goes as planned. What is done needs no repeating. ${progressMark(next, total)}`
  return { kind: 'say', text, reasoning: null, finish: 'stop' }
}

/** Renders a good turn. */
export function speak({ turn, manner }: NextTurn, { reasoning }: { readonly reasoning: boolean }): Speech {
  const speech = renderTurn(turn, manner)
  if (!reasoning || speech.reasoning !== null) return speech
  return { ...speech, reasoning: turn.kind === 'work' ? `Next: ${turn.plan}` : 'Nothing to think about.' }
}
