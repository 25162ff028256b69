import { canonicalJson } from '../../../lib/digest-json.ts'
import { readJson } from '../../../lib/parse-json.ts'
import type { RecipeTrace } from './trace-row.ts'

/** Something an agent executed in one of its turns. */
export interface AgentCommand {
  /** What was typed, run or written, without its wrapping. */
  readonly text: string
  /** The same for equal commands, however long the agent waited for them. */
  readonly key: string
  /** Where its wrapping begins and ends in the turn. */
  readonly start: number
  readonly end: number
}

export interface AgentTurn {
  /** From 1, counted over the agent's messages. */
  readonly number: number
  readonly content: string
  readonly commands: readonly AgentCommand[]
}

/** The agent's turns with the commands in each; context copied from elsewhere is left out. */
export function agentTurns({
  conversations,
  context_messages,
  tool_calls,
}: Pick<RecipeTrace, 'conversations' | 'context_messages' | 'tool_calls'>): readonly AgentTurn[] {
  return conversations
    .map(({ role, content }, message) => ({
      role,
      content,
      calls: tool_calls.filter((call) => call.message === message),
    }))
    .slice(Math.min(context_messages, conversations.length))
    .filter(({ role }) => role === 'assistant')
    .map(({ content, calls }, i) => ({
      number: i + 1,
      content,
      commands: [...commandsOf(content), ...calls.map(called(content))],
    }))
}

/** A call from the separate column comes after all of the text. */
function called(content: string) {
  return ({ name, arguments: text }: RecipeTrace['tool_calls'][number]): AgentCommand => {
    const found = fromJson(`{"name": ${JSON.stringify(name)}, "arguments": ${text || '{}'}}`) ?? plain(text)
    return { ...found, start: content.length, end: content.length }
  }
}

/** The commands in one message of an agent: tool calls, the JSON or XML of terminal agents, and code blocks. */
function commandsOf(content: string): readonly AgentCommand[] {
  const said = withoutThoughts(content)
  const called = between(said, /<tool_call>\s*(?=\{)/g, /(?<=\})\s*<\/tool_call>/g, fromJson)
  if (called.length > 0) return called
  const typed = between(said, /<keystrokes[^<>]*>/g, /<\/keystrokes>/g, plain)
  if (typed.length > 0) return typed
  const listed = fromReply(said)
  if (listed.length > 0) return listed
  return between(said, /```(?:bash|sh|shell|zsh|console|python|py)\s*\n/g, /```/g, plain)
}

/** Blanks out thoughts, which were not executed; blanks keep every position the same. */
function withoutThoughts(content: string): string {
  return content.replace(/<think>[\s\S]*?(<\/think>|$)/g, (thought) => ' '.repeat(thought.length))
}

type Found = Pick<AgentCommand, 'text' | 'key'>

/**
 * The text between an opening and the first closing after it. Each is searched for once: a message may open very many
 * and close none.
 */
function between(
  content: string,
  opening: RegExp,
  closing: RegExp,
  read: (text: string) => Found | null,
): AgentCommand[] {
  const closings = content.matchAll(closing)
  const commands: AgentCommand[] = []
  let close = closings.next()
  let done = 0
  for (const { 0: open, index: start } of content.matchAll(opening)) {
    const from = start + open.length
    if (start < done) continue
    while (!close.done && close.value.index < from) close = closings.next()
    if (close.done) break
    const { 0: end, index: to } = close.value
    done = to + end.length
    const found = read(content.slice(from, to))
    if (found) commands.push({ ...found, start, end: done })
  }
  return commands
}

function plain(text: string): Found {
  return { text, key: text.trim() }
}

function fromJson(text: string): Found | null {
  const call = parse(text)
  if (call === null) return plain(text)
  const { name, arguments: args } = call
  const { duration: _, timeout: __, ...rest } = Object(args) as Record<string, unknown>
  return { text: textsIn(rest).join('\n'), key: canonicalJson([name, rest]) }
}

/** A reply that is JSON with a list of commands, possibly surrounded by other text. */
function fromReply(content: string): AgentCommand[] {
  const [start, end] = [content.indexOf('{'), content.lastIndexOf('}') + 1]
  const reply = start < 0 ? null : parse(content.slice(start, end))
  if (!Array.isArray(reply?.commands)) return []
  return reply.commands.map((command: unknown) => ({ ...plain(textsIn(command).join('\n')), start, end }))
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = readJson(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}
