import type { ChatMessage } from '../../core/model.ts'
import { type ImportedSession, session, UnusableSession } from './session.ts'
import {
  argumentsOf,
  callOf,
  contentOf,
  type Fields,
  fieldsOf,
  itemsOf,
  numberOrNull,
  reply,
  textOrNull,
  toolResult,
  toolsOf,
} from './values.ts'

/** Reads a row of an OpenHands evaluation's `output.jsonl`: events under `history`, and their outcome. */
export function readOpenHandsRow(row: Fields): ImportedSession {
  const metadata = fieldsOf(row.metadata)
  const metrics = fieldsOf(row.metrics)
  const resolved = fieldsOf(row.report).resolved ?? row.resolved
  const read = readOpenHands(itemsOf(row.history ?? row.trajectory))
  return {
    ...read,
    model: textOrNull(fieldsOf(metadata.llm_config ?? metadata.llm).model) ?? textOrNull(row.model) ?? read.model,
    task: textOrNull(row.instance_id),
    runId: textOrNull(row.instance_id),
    instruction: textOrNull(row.instruction) ?? read.instruction,
    reward: typeof resolved === 'boolean' ? Number(resolved) : null,
    costUsd: numberOrNull(metrics.accumulated_cost),
  }
}

/** Reads the events of an OpenHands session, from the older runtime (`action`, `observation`) or the SDK (`kind`). */
export function readOpenHands(listed: readonly unknown[]): ImportedSession {
  // Some exports pair each action with its observation.
  const events = listed.flat().map(fieldsOf)
  const isSdk = events.some(({ kind }) => typeof kind === 'string')
  const { messages, tools, model } = isSdk ? readSdkEvents(events) : readOlderEvents(events)
  const asked = messages.find(({ role }) => role === 'user')
  return session('openhands', messages, {
    model,
    tools: toolsOf(tools),
    date: textOrNull(events[0]?.timestamp),
    instruction: asked?.content ?? null,
  })
}

interface ReadEvents {
  readonly messages: ChatMessage[]
  readonly tools: unknown
  readonly model: string | null
}

const condensed = () =>
  new UnusableSession('condensed', 'the agent condensed its context, and the file does not say to what the model saw')

function readOlderEvents(events: readonly Fields[]): ReadEvents {
  const messages: ChatMessage[] = []
  const answered = new Set<unknown>()
  let [tools, model]: [unknown, string | null] = [[], null]
  for (const [index, event] of events.entries()) {
    const { action, observation, source } = event
    const args = fieldsOf(event.args)
    const call = fieldsOf(event.tool_call_metadata)
    const id = textOrNull(call.tool_call_id) ?? (event.cause === undefined ? null : `event-${String(event.cause)}`)
    if (action === 'condensation') throw condensed()
    if (action === 'system') {
      messages.push({ role: 'system', content: contentOf(args.content) })
      tools = args.tools
    } else if (action === 'message' && source === 'user')
      messages.push({ role: 'user', content: contentOf(args.content) })
    else if (typeof action === 'string' && source === 'agent' && !silent.has(action)) {
      const response = fieldsOf(call.model_response)
      model ??= textOrNull(response.model)
      // Parallel calls of a model are several events with the same response.
      if (response.id !== undefined && answered.has(response.id)) continue
      answered.add(response.id)
      messages.push(exactReply(response, index) ?? retold(action, event, args))
    } else if (typeof observation === 'string' && !silent.has(observation))
      messages.push(afterCall(messages) ? toolResult(contentOf(event.content), id) : seen(event))
  }
  return { messages, tools, model }
}

/** Events about the program's own state, which no model sees. */
const silent = new Set(['change_agent_state', 'agent_state_changed', 'null', 'recall', 'loop_detection'])

/** The model's reply, if the event contains it verbatim. */
function exactReply(response: Fields, index: number): ChatMessage | null {
  const message = fieldsOf(fieldsOf(itemsOf(response.choices)[0]).message)
  if (message.role !== 'assistant') return null
  const calls = itemsOf(message.tool_calls).map((call, nth) => callOf(call, `call-${index}-${nth}`))
  return reply(contentOf(message.content), textOrNull(message.reasoning_content), calls)
}

/** The reply reconstructed from the action that was parsed from it. */
function retold(action: string, { id }: Fields, { thought, content, ...args }: Fields): ChatMessage {
  if (action === 'message') return reply(contentOf(content), null, [])
  const given = content === undefined ? args : { ...args, content }
  const call = { id: `event-${String(id)}`, name: action, arguments: argumentsOf(given) }
  return reply(textOrNull(thought) ?? '', null, [call])
}

function afterCall(messages: readonly ChatMessage[]): boolean {
  return messages.findLast(({ role }) => role === 'assistant')?.toolCalls !== undefined
}

function seen({ content }: Fields): ChatMessage {
  return { role: 'user', content: contentOf(content) }
}

function readSdkEvents(events: readonly Fields[]): ReadEvents {
  const messages: ChatMessage[] = []
  const replies = new Map<unknown, number>()
  let tools: unknown = []
  for (const [index, event] of events.entries()) {
    switch (event.kind) {
      case 'SystemPromptEvent':
        messages.push({ role: 'system', content: contentOf(event.system_prompt) })
        tools = event.tools
        break
      case 'MessageEvent':
        messages.push(spoken(fieldsOf(event.llm_message), event.source))
        break
      case 'ActionEvent':
        addAction(messages, replies, event, index)
        break
      case 'ObservationEvent':
        messages.push(toolResult(observed(fieldsOf(event.observation)), textOrNull(event.tool_call_id)))
        break
      case 'AgentErrorEvent':
      case 'UserRejectObservation':
        messages.push(toolResult(contentOf(event.error ?? event.rejection_reason), textOrNull(event.tool_call_id)))
        break
      case 'Condensation':
      case 'CondensationEvent':
        throw condensed()
    }
  }
  return { messages, tools, model: null }
}

function spoken({ content, reasoning_content: reasoning }: Fields, source: unknown): ChatMessage {
  if (source === 'agent') return reply(contentOf(content), textOrNull(reasoning), [])
  return { role: 'user', content: contentOf(content) }
}

function addAction(messages: ChatMessage[], replies: Map<unknown, number>, event: Fields, index: number): void {
  const wrapped = fieldsOf(event.tool_call)
  const { kind: _, ...action } = fieldsOf(event.action)
  const call = {
    id: textOrNull(event.tool_call_id) ?? textOrNull(wrapped.id) ?? `call-${index}`,
    name: textOrNull(event.tool_name) ?? textOrNull(wrapped.name) ?? 'unknown',
    arguments: argumentsOf(wrapped.arguments ?? fieldsOf(wrapped.function).arguments ?? action),
  }
  const at = event.llm_response_id === undefined ? undefined : replies.get(event.llm_response_id)
  const before = at === undefined ? undefined : messages[at]
  if (at !== undefined && before) {
    messages[at] = { ...before, toolCalls: [...(before.toolCalls ?? []), call] }
    return
  }
  replies.set(event.llm_response_id, messages.length)
  messages.push(reply(contentOf(event.thought), textOrNull(event.reasoning_content), [call]))
}

/** The text that an observation shows the model, for any kind of tool. */
function observed({ content, output, ...others }: Fields): string {
  if (content !== undefined) return contentOf(content)
  return output === undefined ? JSON.stringify(others) : contentOf(output)
}
