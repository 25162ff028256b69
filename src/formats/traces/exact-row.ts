import { createHash } from 'node:crypto'
import type { ChatMessage } from '../../core/model.ts'
import { atifTools } from '../atif/recorder/steps.ts'
import type { SharedColumns } from './build-row.ts'
import { wellFormed, withoutLoneSurrogates } from './clean.ts'
import type { ExactConversation, ExactTurn } from './exact-conversations.ts'
import type { TraceRow } from './row.ts'
import { shareGptOf } from './sharegpt.ts'

export interface ExactRowOptions {
  /** With a row for each reply, only a row's last reply belongs to it. */
  readonly episodes: 'all' | 'last'
  readonly sharegpt: boolean
  /**
   * `inline`: the model's reasoning precedes its reply, in the tags that chat templates use; the column exists either
   * way.
   */
  readonly reasoning: 'column' | 'inline'
}

/** The row of one conversation; null if there is no user message before the model's first reply. */
export function buildExactRow(
  said: ExactConversation,
  agent: string,
  shared: SharedColumns,
  options: ExactRowOptions,
): TraceRow | null {
  const turns = said.turns.map((turn) => (options.reasoning === 'inline' ? withThoughts(turn) : turn))
  const asked = turns.find(({ message }) => message.role !== 'system')?.message
  if (asked?.role !== 'user') return null
  const messages = turns.map(({ message }) => message)
  return wellFormed<TraceRow>({
    ...shared,
    conversations: messages.map(({ role, content }) => ({ role, content: withoutLoneSurrogates(content) })),
    ...(options.sharegpt ? { conversations_sharegpt: shareGptOf(messages) } : {}),
    agent,
    episode: `episode-${said.count - 1}`,
    tool_definitions: said.tools.length === 0 ? null : JSON.stringify(atifTools(said.tools)),
    trace_source: said.source,
    prompt_digest: createHash('sha256').update(asked.content).digest('hex'),
    turns: said.count,
    context_messages: contextOf(turns),
    tool_calls: messages.flatMap(({ toolCalls = [] }, message) =>
      toolCalls.map((call) => wellFormed({ message, id: call.id, name: call.name, arguments: call.arguments })),
    ),
    tool_results: messages.flatMap(({ toolCallId }, message) =>
      toolCallId === undefined ? [] : [wellFormed({ message, id: toolCallId })],
    ),
    reasoning: said.turns.flatMap(({ message: { role, reasoning } }, message) =>
      role === 'assistant' && reasoning ? [wellFormed({ message, content: reasoning })] : [],
    ),
    turn_marks: turns.flatMap(({ marks }, message) => marks.map((mark) => ({ message, mark }))),
    train_on: options.episodes === 'all' ? 'last' : 'all',
  })
}

/** A reasoning model's text in the format that chat templates of such models produce and expect. */
export function inlineReasoning(reasoning: string, text: string): string {
  return `<think>\n${reasoning.trim()}\n</think>\n\n${text}`
}

function withThoughts(turn: ExactTurn): ExactTurn {
  const { role, content, reasoning } = turn.message
  if (role !== 'assistant' || !reasoning) return turn
  const message: ChatMessage = { ...turn.message, content: inlineReasoning(reasoning, content) }
  return { ...turn, message }
}

/** How many leading messages belong to another conversation: up to the last reply before this one's first. */
function contextOf(turns: readonly ExactTurn[]): number {
  const firstOwn = turns.findIndex(({ own }) => own)
  return turns.slice(0, Math.max(0, firstOwn)).findLastIndex(({ message }) => message.role === 'assistant') + 1
}
