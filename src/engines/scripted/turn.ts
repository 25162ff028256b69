import type { ModelReply } from '../../core/model.ts'
import type { Fault } from './fault.ts'

export interface Command {
  /** As typed: a command ends with a line feed. */
  readonly keystrokes: string
  readonly durationSec: number
}

/** Terminal work, expressed in whatever way a conversation expects. */
export interface WorkTurn {
  readonly kind: 'work'
  readonly analysis: string
  readonly plan: string
  readonly commands: readonly Command[]
  readonly complete: boolean
  readonly reasoning: string | null
  /** What the terminal shows once the commands have finished; waited for before the next turn. */
  readonly until: RegExp | null
}

/** Literal text. */
export interface SayTurn {
  readonly kind: 'say'
  readonly text: string
  readonly reasoning: string | null
  readonly finish: ModelReply['finish']
}

/** Calls tools by name. */
export interface CallTurn {
  readonly kind: 'call'
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[]
  readonly reasoning: string | null
}

/** A single fault instead of a turn. */
export interface FaultTurn {
  readonly kind: 'fault'
  readonly fault: Fault
}

export type Turn = WorkTurn | SayTurn | CallTurn | FaultTurn

/** A turn of work with defaults for whatever is left out. */
export function work(parts: Partial<Omit<WorkTurn, 'kind'>>): WorkTurn {
  return {
    kind: 'work',
    analysis: '',
    plan: '',
    commands: [],
    complete: false,
    reasoning: null,
    until: null,
    ...parts,
  }
}

/** The turn that ends every script, repeated as often as requested. */
export const completion = work({
  analysis: 'All steps are done, and the terminal shows no error that matters.',
  plan: 'Nothing is left to do.',
  complete: true,
})

/** The reply when nothing is known about a task. */
export const giveUp = work({
  analysis: 'This is a stand-in for a model, and it knows no turns for this task.',
  plan: 'Give up.',
  complete: true,
})
