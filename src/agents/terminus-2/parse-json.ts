import { messageOf } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import { type Command, type Dialect, defaultDurationSec, type Parsed, unusable } from './parsed.ts'

/** Replies as one JSON object: analysis, plan, commands and, at the end, task_complete. */
export const jsonDialect: Dialect = { replyName: 'JSON response', parse: parseJsonReply, isWhole }

/** Parses a reply; if that fails, tries again with small corrections, which are reported. */
export function parseJsonReply(reply: string): Parsed {
  const first = tryParse(reply)
  if (first.error === '') return first
  for (const { name, fix } of corrections) {
    const corrected = fix(reply)
    if (corrected === null) continue
    const again = tryParse(corrected)
    if (again.error !== '') continue
    const note = `AUTO-CORRECTED: ${name} - please fix this in future responses`
    return { ...again, warnings: [note, ...again.warnings] }
  }
  return first
}

function isWhole(reply: string): boolean {
  return tryParse(reply).error === ''
}

function tryParse(reply: string): Parsed {
  const found = findObject(reply)
  if (found === null) return unusable('No valid JSON found in response', ['A reply is one object in braces'])
  const warnings: string[] = []
  if (reply.slice(0, found.start).trim() !== '') warnings.push('Text before the JSON object was ignored')
  if (reply.slice(found.end).trim() !== '') warnings.push('Text after the JSON object was ignored')
  const content = reply.slice(found.start, found.end)
  let value: unknown
  try {
    value = readJson(content)
  } catch (error) {
    return unusable(`Invalid JSON: ${messageOf(error)} | ${preview(content)}`, warnings)
  }
  return isRecord(value) ? readFields(value, content, warnings) : unusable('Response must be a JSON object', warnings)
}

function readFields(fields: Record<string, unknown>, content: string, warnings: string[]): Parsed {
  const missing = ['analysis', 'plan', 'commands'].filter((name) => !Object.hasOwn(fields, name))
  if (missing.length > 0) return unusable(`Missing required fields: ${missing.join(', ')}`, warnings)
  warnings.push(...orderWarnings(content))
  const analysis = textOf(fields.analysis, 'analysis', warnings)
  const plan = textOf(fields.plan, 'plan', warnings)
  const isComplete = completion(fields.task_complete, warnings)
  if (!Array.isArray(fields.commands)) return unusable("Field 'commands' must be an array", warnings)
  const read = readCommands(fields.commands, warnings)
  if (read.error === '') return { analysis, plan, commands: read.commands, isComplete, error: '', warnings }
  // If a model says that the task is done, a bad command is no reason to ask it again.
  if (!isComplete) return unusable(read.error, warnings)
  return { analysis, plan, commands: [], isComplete, error: '', warnings: [...warnings, read.error] }
}

interface ReadCommands {
  readonly commands: Command[]
  readonly error: string
}

function readCommands(list: readonly unknown[], warnings: string[]): ReadCommands {
  const commands: Command[] = []
  for (const [i, item] of list.entries()) {
    const label = `Command ${i + 1}`
    if (!isRecord(item)) return { commands, error: `${label} must be an object` }
    const { keystrokes, duration, ...others } = item
    if (keystrokes === undefined) return { commands, error: `${label} missing required 'keystrokes' field` }
    if (typeof keystrokes !== 'string') {
      return { commands, error: `${label} 'keystrokes' must be a string` }
    }
    const unknown = Object.keys(others)
    if (unknown.length > 0) warnings.push(`${label} has fields that mean nothing: ${unknown.join(', ')}`)
    const isLast = i === list.length - 1
    if (!isLast && keystrokes !== '' && !keystrokes.endsWith('\n')) {
      warnings.push(`${label} does not end with a newline, so the next command is typed onto the same line`)
    }
    commands.push({ keystrokes, durationSec: durationOf(duration, label, warnings) })
  }
  return { commands, error: '' }
}

function durationOf(value: unknown, label: string, warnings: string[]): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const what = value === undefined ? 'has no duration' : 'has a duration that is no number'
  warnings.push(`${label} ${what}; ${defaultDurationSec.toFixed(1)} was used`)
  return defaultDurationSec
}

function textOf(value: unknown, name: string, warnings: string[]): string {
  if (typeof value === 'string') return value
  warnings.push(`Field '${name}' should be a string`)
  return value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function completion(value: unknown, warnings: string[]): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  if (typeof value === 'string') return ['true', '1', 'yes'].includes(value.toLowerCase())
  warnings.push("Field 'task_complete' should be true or false")
  return typeof value === 'number' ? value !== 0 : Object.keys(value).length > 0
}

function orderWarnings(content: string): string[] {
  const expected = ['analysis', 'plan', 'commands']
  const places = expected.map((name) => content.search(new RegExp(`"${name}"\\s*:`))).filter((place) => place >= 0)
  const isOrdered = places.every((place, i) => i === 0 || place > (places[i - 1] ?? -1))
  return isOrdered ? [] : ['Fields are out of order; expected analysis, plan, commands']
}

/**
 * The first object with matching braces, respecting strings and escapes; a surplus closing brace hides the opening
 * brace after it.
 */
function findObject(text: string): { readonly start: number; readonly end: number } | null {
  let start = -1
  let depth = 0
  let isInString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '\\') i++
    else if (char === '"') isInString = !isInString
    else if (isInString) continue
    else if (char === '{') {
      if (depth++ === 0) start = i
    } else if (char === '}' && --depth === 0 && start >= 0) return { start, end: i + 1 }
  }
  return null
}

const corrections: readonly { readonly name: string; readonly fix: (reply: string) => string | null }[] = [
  { name: 'added the closing braces that were missing', fix: closeBraces },
  { name: 'took the JSON object out of the text around it', fix: embeddedObject },
]

function closeBraces(reply: string): string | null {
  const open = (reply.match(/\{/g)?.length ?? 0) - (reply.match(/\}/g)?.length ?? 0)
  return open > 0 ? reply + '}'.repeat(open) : null
}

/** Longer replies are not searched by trial and error, which takes more than linear time. */
const searchedChars = 200_000

/** An object that contains objects, but nothing deeper. */
function embeddedObject(reply: string): string | null {
  if (reply.length > searchedChars) return null
  for (const [candidate] of reply.matchAll(/\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g)) {
    try {
      if (isRecord(readJson(candidate))) return candidate
    } catch {
      // The next one may be valid.
    }
  }
  return null
}

function preview(content: string): string {
  return content.length <= 100
    ? `Content: ${JSON.stringify(content)}`
    : `Content preview: ${JSON.stringify(content.slice(0, 100))}...`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
