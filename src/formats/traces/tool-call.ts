import { withoutLoneSurrogates } from './clean.ts'
import { markedNumber } from './exact-numbers.ts'

/** A tool call in the format that models are trained on: JSON between tags, spaced like Python's `json.dumps`. */
export function renderToolCall(name: string, args: Readonly<Record<string, unknown>>): string {
  return `<tool_call>\n${dumps({ name, arguments: args })}\n</tool_call>`
}

function dumps(value: unknown): string {
  if (typeof value === 'string') return markedNumber(value) ?? quote(value)
  if (Array.isArray(value)) return `[${value.map(dumps).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).map(([key, item]) => `${quote(key)}: ${dumps(item)}`)
  return `{${entries.join(', ')}}`
}

function quote(text: string): string {
  return JSON.stringify(withoutLoneSurrogates(text))
}
