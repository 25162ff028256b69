import type { ChatMessage } from '../../core/model.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { type ImportedSession, session, UnusableSession } from './session.ts'
import {
  callOf,
  contentOf,
  type Fields,
  fieldsOf,
  itemsOf,
  numberOrNull,
  reply,
  textOrNull,
  toolResult,
} from './values.ts'

/** Reads a `.traj` file of SWE-agent: `history` is what the model saw and said, `info` how it ended. */
export function readSweAgent(file: Fields): ImportedSession {
  const entries = itemsOf(file.history).map(fieldsOf)
  if (entries.length === 0) throw new UnusableSession('no-history', 'expected a list called history with messages')
  // Other agents of the same run, such as one that judges attempts, have their own history in it.
  const main = entries.find(({ agent }) => typeof agent === 'string')?.agent
  const own = entries.filter(({ agent }) => agent === undefined || agent === main)
  const info = fieldsOf(file.info)
  const stats = fieldsOf(info.model_stats)
  const config = fieldsOf(typeof file.replay_config === 'string' ? parseJson(file.replay_config) : file.replay_config)
  return session('swe-agent', own.map(messageOf), {
    model: textOrNull(fieldsOf(fieldsOf(config.agent).model).name),
    task: textOrNull(fieldsOf(config.problem_statement).id),
    instruction: textOrNull(fieldsOf(config.problem_statement).text),
    exit: exitOf(info.exit_status),
    // A replayed run has no counts.
    inputTokens: numberOrNull(stats.tokens_sent) || null,
    outputTokens: numberOrNull(stats.tokens_received) || null,
    costUsd: numberOrNull(stats.instance_cost) || null,
  })
}

function messageOf(entry: Fields, index: number): ChatMessage {
  const content = contentOf(entry.content)
  switch (entry.role) {
    case 'assistant': {
      const calls = itemsOf(entry.tool_calls).map((call, nth) => callOf(call, `call-${index}-${nth}`))
      const thinking = itemsOf(entry.thinking_blocks).flatMap((block) => textOrNull(fieldsOf(block).thinking) ?? [])
      return reply(content, thinking.join('\n') || null, calls)
    }
    case 'tool':
      return toolResult(content, textOrNull(itemsOf(entry.tool_call_ids)[0]))
    case 'system':
    case 'user':
      return { role: entry.role, content }
    default:
      throw new UnusableSession('unknown-role', `message ${index + 1} has the role ${String(entry.role)}`)
  }
}

/** Parses `submitted`, or `exit_cost` and the like; `submitted (exit_cost)` was stopped by the limit. */
function exitOf(status: unknown): string | null {
  if (typeof status !== 'string') return null
  if (/exit_cost/.test(status)) return 'cost'
  if (/exit_context/.test(status)) return 'context'
  if (/timeout|exit_total_execution_time/.test(status)) return 'time'
  return status === 'submitted' ? 'finished' : 'exited'
}
