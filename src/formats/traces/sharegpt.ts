import type { ChatMessage } from '../../core/model.ts'
import { readJson } from '../../lib/parse-json.ts'
import { withoutLoneSurrogates } from './clean.ts'

/** A message in ShareGPT format. */
export interface ShareGptMessage {
  readonly from: string
  readonly value: string
}

/**
 * A conversation for LLaMA-Factory's `sharegpt` formatting: an optional system message, then messages alternating
 * between the user's side (human, observation) and the model's (gpt, function_call). A call is JSON; if there is also
 * text, the text comes first and the call is in tags. Consecutive messages of one side are merged.
 */
export function shareGptOf(messages: readonly ChatMessage[]): ShareGptMessage[] {
  const [first, ...rest] = messages
  const system = first?.role === 'system' ? [{ from: 'system', value: withoutLoneSurrogates(first.content) }] : []
  const merged: ShareGptMessage[] = []
  for (const message of system.length > 0 ? rest : messages) {
    const next = { from: sideOf(message), value: withoutLoneSurrogates(textOf(message)) }
    const before = merged.at(-1)
    if (before && isModel(before) === isModel(next)) merged[merged.length - 1] = join(before, next)
    else merged.push(next)
  }
  return [...system, ...merged]
}

function sideOf({ role, toolCalls = [] }: ChatMessage): string {
  if (role === 'assistant') return toolCalls.length > 0 ? 'function_call' : 'gpt'
  return role === 'tool' ? 'observation' : 'human'
}

function textOf({ content, toolCalls = [] }: ChatMessage): string {
  if (toolCalls.length === 0) return content
  const calls = JSON.stringify(toolCalls.map(({ name, arguments: text }) => ({ name, arguments: objectIn(text) })))
  return content === '' ? calls : `${content}\n<tool_call>\n${calls}\n</tool_call>`
}

/** Trainers parse arguments as JSON, but a model may have written something else. */
function objectIn(text: string): unknown {
  try {
    return readJson(text === '' ? '{}' : text)
  } catch {
    return text
  }
}

function isModel({ from }: ShareGptMessage): boolean {
  return from === 'gpt' || from === 'function_call'
}

function join(a: ShareGptMessage, b: ShareGptMessage): ShareGptMessage {
  if (a.from === 'observation' && b.from === 'observation') {
    // This is how the trainer itself joins the results of parallel calls.
    return { from: a.from, value: `${a.value}\n</tool_response>\n<tool_response>\n${b.value}` }
  }
  const from = [a.from, b.from].find((each) => each === 'function_call' || each === 'observation') ?? a.from
  return { from, value: `${a.value}\n\n${b.value}` }
}
