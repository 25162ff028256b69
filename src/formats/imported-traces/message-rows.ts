import type { ChatMessage } from '../../core/model.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { messagesOf, type RowRecord } from '../conversations/messages.ts'
import { type ImportedSession, session, UnusableSession } from './session.ts'
import { fieldsOf, itemsOf, numberOrNull, reply, textOrNull, toolResult, toolsOf } from './values.ts'

/**
 * Reads a row with a list of messages in ShareGPT or OpenAI format. Facts that trajectory datasets keep in other
 * columns are included: model, task, whether it was solved.
 */
export function readMessageRow(given: RowRecord): ImportedSession {
  const row = withCalls(withTrajectory(given))
  for (const item of itemsOf(row.messages ?? row.conversations)) refuseMedia(fieldsOf(item).content)
  const messages = linked(messagesOf(row))
  const info = fieldsOf(row.info)
  const config = fieldsOf(fieldsOf(info.config).model)
  const scored = numberOrNull(row.reward) ?? verdict(row.resolved ?? row.target ?? row.result)
  const tools = typeof row.tools === 'string' ? parseJson(row.tools) : row.tools
  return session(agentOf(row), messages, {
    model: textOrNull(row.model ?? row.model_name) ?? textOrNull(config.model_name),
    provider: textOrNull(row.model_provider),
    date: textOrNull(row.date),
    task: textOrNull(row.task) ?? textOrNull(row.instance_id) ?? textOrNull(row.id),
    runId: textOrNull(row.run_id) ?? textOrNull(row.trial_name),
    instruction: textOrNull(row.instruction) ?? messages.find(({ role }) => role === 'user')?.content ?? null,
    tools: toolsOf(tools),
    reward: scored,
    exit: exitOf(row.exit_status ?? info.exit_status),
    costUsd: numberOrNull(fieldsOf(info.model_stats).instance_cost),
  })
}

function agentOf(row: RowRecord): string {
  const format = textOrNull(row.trajectory_format)
  return textOrNull(row.agent) ?? (format?.startsWith('mini-swe-agent') ? 'mini-swe-agent' : 'unknown-agent')
}

/** Some datasets name the list `trajectory` and its texts `text`. */
function withTrajectory(row: RowRecord): RowRecord {
  const steps = itemsOf(typeof row.trajectory === 'string' ? parseJson(row.trajectory) : row.trajectory).map(fieldsOf)
  if (row.messages !== undefined || row.conversations !== undefined || steps.length === 0) return row
  const messages = steps.map(({ role, text, content, system_prompt: system }) => ({
    role: role === 'ai' ? 'assistant' : role,
    content: text ?? content ?? system,
  }))
  return { ...row, messages }
}

/** ShareGPT stores a call as a separate message with JSON text. */
function withCalls(row: RowRecord): RowRecord {
  const spelled = (item: unknown) => {
    const { from, role, value, content } = fieldsOf(item)
    if (!/^(function|tool)_call$/.test(String(from ?? role))) return item
    const text = value ?? content
    const parsed = typeof text === 'string' ? parseJson(text) : text
    const calls = (Array.isArray(parsed) ? parsed : [parsed]).filter((call) => fieldsOf(call).name !== undefined)
    return calls.length === 0 ? item : { role: 'assistant', content: '', tool_calls: calls }
  }
  const changed = (name: string) => (Array.isArray(row[name]) ? { [name]: row[name].map(spelled) } : {})
  return { ...row, ...changed('messages'), ...changed('conversations') }
}

/** Links results to calls by order. */
function linked(listed: ReturnType<typeof messagesOf>): ChatMessage[] {
  const open: string[] = []
  return listed.map(({ role, content, reasoning, calls }, index) => {
    switch (role) {
      case 'assistant': {
        const made = calls.map((call, nth) => ({ id: `call-${index}-${nth}`, ...call }))
        open.splice(0, open.length, ...made.map(({ id }) => id))
        return reply(content, reasoning, made)
      }
      case 'tool':
        return toolResult(content, open.shift() ?? null)
      case 'system':
      case 'user':
        return { role, content }
      default:
        throw new UnusableSession('unknown-role', `message ${index + 1} has the role ${role}`)
    }
  })
}

function refuseMedia(content: unknown): void {
  for (const part of itemsOf(content)) {
    const { type } = fieldsOf(part)
    if (typeof type === 'string' && /image|audio|video/.test(type))
      throw new UnusableSession('images', `a message has a part of type ${type}`)
  }
}

/** Harbor's traces store the result as a number in text; an exception's name is no number. */
function verdict(value: unknown): number | null {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : numberOrNull(value)
}

function exitOf(status: unknown): string | null {
  if (typeof status !== 'string' || status === '') return null
  if (/cost/i.test(status)) return 'cost'
  if (/context/i.test(status)) return 'context'
  if (/timeout|time_?limit/i.test(status)) return 'time'
  if (/limit|max_(iterations|turns|steps)/i.test(status)) return 'turns'
  return /^submitted$/i.test(status) ? 'finished' : 'exited'
}
