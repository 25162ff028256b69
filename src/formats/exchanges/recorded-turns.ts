import type { RecordedTurn } from '../../core/replay.ts'
import type { Exchanges } from './read-exchanges.ts'

/** Every completed call, thread by thread; a thread is a row. */
export function turnsOfExchanges({ threads }: Exchanges, at: string): RecordedTurn[] {
  return threads.flatMap(({ id, conversation, calls }) =>
    calls.map(({ sent, tools, reply }, index): RecordedTurn => {
      const { text, reasoning, reasoningBlocks, toolCalls, finish, ...paid } = reply
      return {
        row: `${at}/${conversation}-${id}`,
        turn: index + 1,
        source: conversation,
        sent: sent.map(({ message }) => message),
        tools,
        reply: { text, reasoning, ...(reasoningBlocks && { reasoningBlocks }), toolCalls, finish },
        usage: paid.usage,
        paid,
      }
    }),
  )
}
