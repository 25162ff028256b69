import type { ChatMessage, ToolCall } from '../../core/model.ts'
import { type ImportedConversation, type ImportedSession, session } from './session.ts'
import {
  argumentsOf,
  contentOf,
  type Fields,
  fieldsOf,
  itemsOf,
  numberOrNull,
  reply,
  textOrNull,
  toolResult,
} from './values.ts'

/**
 * Reads a Claude Code session. Its lines form a tree through `parentUuid`; rewound branches stay in the file, so the
 * conversation is the path to the last line. Each block of a reply is a separate line, and so is each result of
 * parallel calls.
 */
export function readClaudeCode(lines: readonly Fields[]): ImportedSession {
  const main = lines.filter(({ isSidechain }) => isSidechain !== true)
  const chains = new Map<string, Fields[]>()
  for (const line of lines) {
    if (line.isSidechain !== true) continue
    const id = textOrNull(line.agentId) ?? 'unnamed'
    chains.set(id, [...(chains.get(id) ?? []), line])
  }
  const conversations = [
    ...conversationsOf(pathOf(main), 'main'),
    ...[...chains].flatMap(([id, chain]) => conversationsOf(pathOf(chain), `subagent-${id}`)),
  ]
  const replies = new Map(
    lines.filter(isReply).map(({ message }) => [fieldsOf(message).id ?? message, fieldsOf(message)]),
  )
  const used = [...replies.values()].map(({ usage }) => fieldsOf(usage))
  const said = main.find(isSaid)
  return session('claude-code', [], {
    conversations,
    model: textOrNull([...replies.values()].at(-1)?.model),
    provider: 'anthropic',
    date: textOrNull(said?.timestamp),
    runId: textOrNull(said?.sessionId),
    instruction: requestIn(main),
    inputTokens: sumOf(used, ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']),
    outputTokens: sumOf(used, ['output_tokens']),
  })
}

function isReply({ type, isApiErrorMessage, message }: Fields): boolean {
  // Under this name, the tool writes messages about failed requests.
  return type === 'assistant' && isApiErrorMessage !== true && fieldsOf(message).model !== '<synthetic>'
}

function isSaid(line: Fields): boolean {
  if (isReply(line)) return true
  return (line.type === 'user' || line.type === 'summary') && typeof line.message === 'object'
}

/** The lines from the first to the last reply, without abandoned branches. */
function pathOf(lines: readonly Fields[]): Fields[] {
  const byId = new Map(lines.flatMap((line) => (typeof line.uuid === 'string' ? [[line.uuid, line] as const] : [])))
  // Exports may have lost the parent ids; then only the order of the lines is left.
  if (!lines.some((line) => byId.has(parentOf(line)))) return [...lines]
  const last = lines.findLast((line) => isReply(line) && typeof line.uuid === 'string')
  const chosen = new Set<Fields>()
  for (let line = last; line !== undefined && !chosen.has(line); line = byId.get(parentOf(line))) chosen.add(line)
  const path = [...chosen].filter(isReply)
  const replies = new Set<unknown>(path.flatMap(({ message }) => fieldsOf(message).id ?? []))
  for (const line of lines) if (isReply(line) && replies.has(fieldsOf(line.message).id)) chosen.add(line)
  const calls = new Set([...chosen].filter(isReply).flatMap((line) => blocksOf(line, 'tool_use').map(({ id }) => id)))
  for (const line of lines)
    if (blocksOf(line, 'tool_result').some(({ tool_use_id: id }) => calls.has(id))) chosen.add(line)
  return lines.filter((line) => chosen.has(line))
}

function parentOf({ parentUuid, logicalParentUuid }: Fields): string {
  return textOrNull(parentUuid) ?? textOrNull(logicalParentUuid) ?? ''
}

function blocksOf({ message }: Fields, type: string): Fields[] {
  return itemsOf(fieldsOf(message).content)
    .map(fieldsOf)
    .filter((block) => block.type === type)
}

/** A compaction ends one context and begins another, which starts with a summary. */
function conversationsOf(path: readonly Fields[], source: string): ImportedConversation[] {
  const contexts: Fields[][] = [[]]
  for (const line of path) {
    if (line.type === 'system' && line.subtype === 'compact_boundary') contexts.push([])
    else if (isSaid(line)) contexts.at(-1)?.push(line)
  }
  return contexts
    .filter((lines) => lines.length > 0)
    .map((lines, nth) => ({ source, messages: messagesOf(lines), copied: nth === 0 ? 0 : 1 }))
}

function messagesOf(lines: readonly Fields[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  let open: { readonly id: unknown; readonly at: number; readonly blocks: Fields[] } | null = null
  for (const line of lines) {
    const message = fieldsOf(line.message)
    if (line.type !== 'assistant') {
      messages.push(...heard(message.content))
      continue
    }
    // The results of a reply's first calls may come before its last calls.
    if (open === null || message.id === undefined || open.id !== message.id)
      open = { id: message.id, at: messages.push(reply('', null, [])) - 1, blocks: [] }
    open.blocks.push(...partsOf(message.content))
    messages[open.at] = replyOf(open.blocks)
  }
  return messages
}

function partsOf(content: unknown): Fields[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : itemsOf(content).map(fieldsOf)
}

function replyOf(blocks: readonly Fields[]): ChatMessage {
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' ? (textOrNull(text) ?? []) : []))
  const thoughts = blocks.flatMap(({ type, thinking }) => (type === 'thinking' ? (textOrNull(thinking) ?? []) : []))
  const calls = blocks.flatMap(({ type, id, name, input }): ToolCall[] =>
    type === 'tool_use' ? [{ id: String(id), name: textOrNull(name) ?? 'unknown', arguments: argumentsOf(input) }] : [],
  )
  return reply(texts.join('\n\n'), thoughts.join('\n\n') || null, calls)
}

/** The user's side: tool results first, as the API requires, then the typed text. */
function heard(content: unknown): ChatMessage[] {
  const parts = partsOf(content)
  const results = parts.filter(({ type }) => type === 'tool_result')
  const others = parts.filter(({ type }) => type !== 'tool_result')
  const typed = others.length === 0 ? '' : contentOf(others)
  return [
    ...results.map(({ content: said, tool_use_id: id }) => toolResult(contentOf(said), textOrNull(id))),
    ...(typed === '' ? [] : [{ role: 'user', content: typed } as const]),
  ]
}

function requestIn(lines: readonly Fields[]): string | null {
  for (const line of lines) {
    if (line.type !== 'user' || line.isMeta === true || line.isCompactSummary === true) continue
    const typed = partsOf(fieldsOf(line.message).content).flatMap(({ type, text }) =>
      type === 'text' ? (textOrNull(text) ?? []) : [],
    )
    if (typed.length > 0) return typed.join('\n')
  }
  return null
}

function sumOf(used: readonly Fields[], names: readonly string[]): number | null {
  const counts = used.flatMap((each) => names.flatMap((name) => numberOrNull(each[name]) ?? []))
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0)
}
