import type { AnswerKind } from './answers.ts'
import type { Word } from './shell.ts'
import type { Workspace } from './workspace.ts'

/** Why a row is left out. */
export interface Refusal {
  readonly drop: string
  readonly detail: string
}

export const refuse = (drop: string, detail = drop): Refusal => ({ drop, detail })

/** A folder in which a command gives an answer of a certain kind. */
export interface Work {
  readonly answer: { readonly kind: AnswerKind; readonly roots: readonly string[] }
  readonly workspace: Workspace
  /** Sentences that settle what the request leaves open. */
  readonly notes?: readonly string[]
  /** Replaces the command's first program. */
  readonly stage?: readonly Word[]
}
