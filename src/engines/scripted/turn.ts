import type { ModelReply } from '../../core/model.ts'
import type { Fault } from './fault.ts'

export interface Command {
  /** As typed: a command ends with a line feed. */
  readonly keystrokes: string
  readonly durationSec: number
}

/** Terminal work, told in whatever way a conversation asks for. */
export interface WorkTurn {
  readonly kind: 'work'
  readonly analysis: string
  readonly plan: string
  readonly commands: readonly Command[]
  readonly complete: boolean
  readonly reasoning: string | null
  /** What the terminal shows once the commands are through; waited for before the next turn. */
  readonly until: RegExp | null
}

/** Words said as they are. */
export interface SayTurn {
  readonly kind: 'say'
  readonly text: string
  readonly reasoning: string | null
  readonly finish: ModelReply['finish']
}

/** Tools called by their names. */
export interface CallTurn {
  readonly kind: 'call'
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[]
  readonly reasoning: string | null
}

/** Something goes wrong instead of a turn, once. */
export interface FaultTurn {
  readonly kind: 'fault'
  readonly fault: Fault
}

export type Turn = WorkTurn | SayTurn | CallTurn | FaultTurn

/** A turn of work of which only some is said. */
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

/** The turn that ends every script: repeated for as long as it is asked for. */
export const completion = work({
  analysis: 'All steps are done, and the terminal shows no error that matters.',
  plan: 'Nothing is left to do.',
  complete: true,
})

/** What is said when nothing is known about a task. */
export const giveUp = work({
  analysis: 'This is a stand-in for a model, and it knows no turns for this task.',
  plan: 'Give up.',
  complete: true,
})
