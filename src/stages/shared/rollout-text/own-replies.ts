import type { RecipeTrace } from './trace-row.ts'

/** Indexes of the model's replies in this row's own conversation. */
export function ownReplies({ conversations, turn_marks, context_messages }: RecipeTrace): number[] {
  const handed = new Set(turn_marks.filter(({ mark }) => mark === 'context').map(({ message }) => message))
  return conversations.flatMap(({ role }, message) =>
    role === 'assistant' && message >= context_messages && !handed.has(message) ? [message] : [],
  )
}

/** The same row, truncated after a message. */
export function upTo(row: RecipeTrace, last: number): RecipeTrace {
  const within = <T extends { readonly message: number }>(items: readonly T[]) =>
    items.filter(({ message }) => message <= last)
  const fewer = ownReplies(row).filter((message) => message > last).length
  return {
    ...row,
    conversations: row.conversations.slice(0, last + 1),
    turns: row.turns - fewer,
    tool_calls: within(row.tool_calls),
    tool_results: within(row.tool_results),
    reasoning: within(row.reasoning),
    turn_marks: within(row.turn_marks),
  }
}
