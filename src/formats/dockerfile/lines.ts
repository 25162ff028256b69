import { dockerfileError, type Place } from './error.ts'
import { parseJsonStrings, splitRaw, takeFlags } from './words.ts'

/** A text that stands in the Dockerfile itself, between `<<NAME` and `NAME`. */
export interface Heredoc {
  readonly name: string
  /** Tabs already taken off where `<<-` asks for it. */
  readonly content: string
  /** Exactly what stood between the two marks. */
  readonly raw: string
  /** False when the name was quoted: nothing in the content is expanded. */
  readonly expand: boolean
}

/** One instruction, its continued lines joined. */
export interface LogicalLine {
  /** Where it starts, counted from 1. */
  readonly line: number
  /** In capitals. */
  readonly name: string
  readonly flags: readonly string[]
  readonly rest: string
  readonly heredocs: readonly Heredoc[]
}

export interface DockerfileLines {
  readonly escapeChar: string
  /** The value of `# syntax=`, if any. */
  readonly syntax: string | null
  readonly lines: readonly LogicalLine[]
}

/** Joins continued lines, drops comments, and collects heredocs. */
export function readLines(text: string, file: string): DockerfileLines {
  const physical = text.replace(/^\uFEFF/, '').split('\n')
  const directives = readDirectives(physical, file)
  const escapeChar = directives.get('escape') ?? '\\'
  const lines: LogicalLine[] = []
  let next = 0
  while (next < physical.length) {
    const start = next
    const joined = joinContinued(physical, start, escapeChar)
    next = joined.next
    if (joined.text.trim() === '') continue
    const at = { file, line: start + 1 }
    const split = splitInstruction(joined.text)
    const heredocs = collectHeredocs(split.name, split.rest, physical, next, at)
    next = heredocs.next
    lines.push({ line: at.line, ...split, heredocs: heredocs.found })
  }
  return { escapeChar, syntax: directives.get('syntax') ?? null, lines }
}

/** `# name=value` lines count only at the very top. */
function readDirectives(physical: readonly string[], file: string): Map<string, string> {
  const directives = new Map<string, string>()
  for (const [index, text] of physical.entries()) {
    const match = /^\s*#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*$/.exec(text)
    const name = match?.[1]?.toLowerCase()
    if (name === undefined || match?.[2] === undefined || !['escape', 'syntax', 'check'].includes(name)) break
    const at = { file, line: index + 1 }
    if (directives.has(name)) throw dockerfileError(at, `the directive ${name} stands twice`)
    if (name === 'escape' && match[2] !== '\\' && match[2] !== '`') {
      throw dockerfileError(at, `expected escape=\\ or escape=\`, got ${JSON.stringify(match[2])}`)
    }
    directives.set(name, match[2])
  }
  return directives
}

function joinContinued(physical: readonly string[], start: number, escapeChar: string): { text: string; next: number } {
  const first = stripEnding(physical[start] ?? '').trimStart()
  if (first.startsWith('#')) return { text: '', next: start + 1 }
  let { text, open } = takeContinuation(first, escapeChar)
  let next = start + 1
  for (; open && next < physical.length; next++) {
    const line = stripEnding(physical[next] ?? '')
    // Comments and empty lines inside a continued instruction vanish without ending it.
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue
    const taken = takeContinuation(line, escapeChar)
    text += taken.text
    open = taken.open
  }
  return { text, next }
}

/** A last escape character continues the line, unless it is itself escaped. */
function takeContinuation(line: string, escapeChar: string): { text: string; open: boolean } {
  const body = line.replace(/[ \t]+$/, '')
  const open = body.endsWith(escapeChar) && !body.endsWith(escapeChar + escapeChar)
  return open ? { text: body.slice(0, -1), open } : { text: line, open }
}

function splitInstruction(text: string): Pick<LogicalLine, 'name' | 'flags' | 'rest'> {
  const trimmed = text.trim()
  const name = /^\S+/.exec(trimmed)?.[0] ?? ''
  const { flags, rest } = takeFlags(trimmed.slice(name.length).trim())
  return { name: name.toUpperCase(), flags, rest: rest.trim() }
}

interface FoundHeredocs {
  readonly found: readonly Heredoc[]
  readonly next: number
}

function collectHeredocs(
  name: string,
  rest: string,
  physical: readonly string[],
  from: number,
  at: Place,
): FoundHeredocs {
  if (!['RUN', 'COPY', 'ADD'].includes(name) || !rest.includes('<<') || parseJsonStrings(rest) !== null) {
    return { found: [], next: from }
  }
  const { words, closed } = splitRaw(rest, '\\')
  const found: Heredoc[] = []
  let next = from
  for (const mark of closed ? words : []) {
    const parsed = parseHeredocMark(mark)
    if (parsed === null) continue
    const end = findEnd(physical, next, parsed)
    if (end === null) throw dockerfileError(at, `${parsed.name}: the end of this heredoc is missing`)
    const raw = physical
      .slice(next, end)
      .map((line) => `${line}\n`)
      .join('')
    const content = parsed.chomp ? raw.replace(/^\t+/gm, '') : raw
    found.push({ name: parsed.name, content, raw, expand: parsed.expand })
    next = end + 1
  }
  return { found, next }
}

interface HeredocMark {
  readonly name: string
  readonly chomp: boolean
  readonly expand: boolean
}

/** Reads `<<EOF`, `<<-EOF`, `<<"EOF"` or `3<<EOF`; null for any other word. */
export function parseHeredocMark(word: string): HeredocMark | null {
  const match = /^\d*<<(-?)([^<]+)$/.exec(word)
  const quoted = match?.[2]
  if (quoted === undefined) return null
  const name = quoted.replace(/\\(.)|["']/g, '$1')
  return name === '' ? null : { name, chomp: match?.[1] === '-', expand: name === quoted }
}

function findEnd(physical: readonly string[], from: number, mark: HeredocMark): number | null {
  for (let at = from; at < physical.length; at++) {
    const line = stripEnding(physical[at] ?? '')
    if ((mark.chomp ? line.replace(/^\t+/, '') : line) === mark.name) return at
  }
  return null
}

function stripEnding(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}
