import type { ChatMessage, ModelClient, ModelRequest, ToolDefinition } from '../../../core/model.ts'
import type { Dropped } from '../../../core/stage.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import { ownReplies, upTo } from '../rollout-text/own-replies.ts'
import type { RecipeTrace } from '../rollout-text/trace-row.ts'
import { type AskAt, booked, cutOff } from './ask.ts'
import type { Spending } from './spending.ts'

/** The reply of a row that a model gives again. */
interface Question {
  readonly row: RecipeTrace
  /** Its index. */
  readonly message: number
  readonly turns: 'first' | 'last' | 'each'
}

interface Settings {
  readonly temperature?: number | undefined
  readonly maxOutputTokens?: number | undefined
}
type Asker = AskAt & { readonly model: ModelClient; readonly spending: Spending }

/** The row up to a reply that a model gives again; dropped when there is no such reply or it was cut off. */
export async function answerAt(
  { row, message, turns }: Question,
  settings: Settings,
  at: Asker,
): Promise<RecipeTrace | Dropped> {
  const id = turns === 'each' ? `${row.id}/message-${message}` : row.id
  const request = requestOf(row, message, settings)
  const replied = await booked(request, 0, at, at.spending)
  if (replied === 'context-exceeded')
    return { drop: 'context-exceeded', detail: 'the conversation is too long for the model', id }
  const { text, finish, reasoning, toolCalls } = replied
  if (finish === 'length') return { drop: 'reply-cut', detail: cutOff(text, request), id }
  if (finish === 'content-filter') return { drop: 'reply-filtered', detail: 'withheld by the server', id }
  if (text === '' && toolCalls.length === 0) return { drop: 'empty-reply', detail: 'the model said nothing', id }
  const cut = upTo(row, message)
  const others = <T extends { readonly message: number }>(items: readonly T[]) =>
    items.filter((item) => item.message !== message)
  const before = ownReplies(cut).length > 1
  return {
    ...cut,
    id,
    ...nameOf(at.model.model),
    conversations: [...cut.conversations.slice(0, -1), { role: 'assistant', content: text }],
    tool_calls: [...others(cut.tool_calls), ...toolCalls.map((call) => ({ message, ...call }))],
    reasoning: [...others(cut.reasoning), ...(reasoning ? [{ message, content: reasoning }] : [])],
    turn_marks: others(cut.turn_marks),
    // The replies before it are another model's, and the reward of the whole trial does not belong to this one.
    train_on: before ? 'last' : cut.train_on,
    result: null,
    reward: null,
  }
}

function nameOf(model: string): Pick<RecipeTrace, 'model' | 'model_provider'> {
  const slash = model.indexOf('/')
  return { model: model.slice(slash + 1), model_provider: slash < 0 ? 'unknown-provider' : model.slice(0, slash) }
}

function requestOf(row: RecipeTrace, message: number, { temperature, maxOutputTokens }: Settings): ModelRequest {
  const tools = toolsOf(row)
  return {
    messages: row.conversations.slice(0, message).map((_, i) => messageAt(row, i)),
    ...(tools.length > 0 && { tools }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  }
}

function messageAt({ conversations, tool_calls, tool_results }: RecipeTrace, i: number): ChatMessage {
  const { role, content } = conversations[i] ?? { role: 'user', content: '' }
  const toolCalls = tool_calls
    .filter((call) => call.message === i)
    .map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  const toolCallId = tool_results.find((result) => result.message === i)?.id
  return {
    role: role as ChatMessage['role'],
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(toolCallId !== undefined && { toolCallId }),
  }
}

/** The tools that the row offers; for tools that are only called, just the name is known. */
function toolsOf({ tool_definitions: text, tool_calls: calls }: RecipeTrace): ToolDefinition[] {
  const listed: unknown = text === null ? [] : parseJson(text)
  const offered = (Array.isArray(listed) ? listed : []).flatMap((item: unknown): ToolDefinition[] => {
    const { name, description, parameters } = Object(Object(item).function ?? item) as Record<string, unknown>
    if (typeof name !== 'string') return []
    return [{ name, description: String(description ?? ''), parameters: Object(parameters ?? {}) }]
  })
  if (offered.length > 0) return offered
  const names = [...new Set(calls.map(({ name }) => name))].sort()
  return names.map((name) => ({ name, description: '', parameters: { type: 'object', additionalProperties: true } }))
}
