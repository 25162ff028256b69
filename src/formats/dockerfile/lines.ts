import { dockerfileError, type Place, parseJsonStrings, splitRaw, takeFlags } from './words.ts'

/** A text embedded in the Dockerfile, between `<<NAME` and `NAME`. */
export interface Heredoc {
  readonly name: string
  /** With leading tabs already removed for `<<-`. */
  readonly content: string
  /** Exactly what is between the two marks. */
  readonly raw: string
  /** Its offset in the file. */
  readonly start: number
  /** False if the name was quoted: nothing in the content is expanded. */
  readonly expand: boolean
}

/** One instruction, with continuation lines joined. */
export interface LogicalLine {
  /** Its first line, counted from 1. */
  readonly line: number
  /** In upper case. */
  readonly name: string
  readonly flags: readonly string[]
  readonly rest: string
  /** For each character of `rest`, its offset in the file. */
  readonly offsets: readonly number[]
  readonly heredocs: readonly Heredoc[]
}

export interface DockerfileLines {
  readonly escapeChar: string
  /** The value of `# syntax=`, if any. */
  readonly syntax: string | null
  readonly lines: readonly LogicalLine[]
}

/** Joins continuation lines, drops comments, and collects heredocs. */
export function readLines(text: string, file: string): DockerfileLines {
  const physical = splitPhysical(text)
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
    const heredocs = collectHeredocs(split, physical, next, at)
    next = heredocs.next
    // What follows name and options is always the end of the joined text.
    const restEnd = joined.text.trimEnd().length
    const offsets = joined.offsets.slice(restEnd - split.rest.length, restEnd)
    lines.push({ line: at.line, ...split, offsets, heredocs: heredocs.found })
  }
  return { escapeChar, syntax: directives.get('syntax') ?? null, lines }
}

/** One line of the file, without its line feed, and its offset. */
interface PhysicalLine {
  readonly text: string
  readonly start: number
}

function splitPhysical(text: string): PhysicalLine[] {
  let start = text.startsWith('\uFEFF') ? 1 : 0
  return text
    .slice(start)
    .split('\n')
    .map((line) => {
      const physical = { text: line, start }
      start += line.length + 1
      return physical
    })
}

/** `# name=value` lines only count at the very top. */
function readDirectives(physical: readonly PhysicalLine[], file: string): Map<string, string> {
  const directives = new Map<string, string>()
  for (const [index, { text }] of physical.entries()) {
    const match = /^\s*#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=(.*)$/s.exec(text)
    const name = match?.[1]?.toLowerCase()
    const value = match?.[2]?.trim()
    if (name === undefined || !value || !['escape', 'syntax', 'check'].includes(name)) break
    const at = { file, line: index + 1 }
    if (directives.has(name)) throw dockerfileError(at, `the directive ${name} occurs twice`)
    if (name === 'escape' && value !== '\\' && value !== '`') {
      throw dockerfileError(at, `expected escape=\\ or escape=\`, got ${JSON.stringify(value)}`)
    }
    directives.set(name, value)
  }
  return directives
}

interface Joined {
  readonly text: string
  /** For each character of `text`, its offset in the file. */
  readonly offsets: readonly number[]
  readonly next: number
}

function joinContinued(physical: readonly PhysicalLine[], first: number, escapeChar: string): Joined {
  if (physical[first]?.text.trimStart().startsWith('#')) return { text: '', offsets: [], next: first + 1 }
  const offsets: number[] = []
  let text = ''
  let open = true
  let next = first
  for (; open && next < physical.length; next++) {
    const { text: whole = '', start = 0 } = physical[next] ?? {}
    const line = stripEnding(whole)
    const isFirst = next === first
    // Comments and empty lines inside a continued instruction are dropped without ending it.
    if (!isFirst && (line.trim() === '' || line.trimStart().startsWith('#'))) continue
    const indent = isFirst ? line.length - line.trimStart().length : 0
    const taken = takeContinuation(line.slice(indent), escapeChar)
    for (let i = 0; i < taken.text.length; i++) offsets.push(start + indent + i)
    text += taken.text
    open = taken.open
  }
  return { text, offsets, next }
}

/** A trailing escape character continues the line, unless it is itself escaped. */
function takeContinuation(line: string, escapeChar: string): { text: string; open: boolean } {
  let end = line.length
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end--
  const body = line.slice(0, end)
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
  { name, rest }: Pick<LogicalLine, 'name' | 'rest'>,
  physical: readonly PhysicalLine[],
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
      .map(({ text }) => `${text}\n`)
      .join('')
    const content = parsed.chomp ? raw.replace(/^\t+/gm, '') : raw
    const start = physical[next]?.start ?? 0
    found.push({ name: parsed.name, content, raw, start, expand: parsed.expand })
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

function findEnd(physical: readonly PhysicalLine[], from: number, mark: HeredocMark): number | null {
  for (let at = from; at < physical.length; at++) {
    const line = stripEnding(physical[at]?.text ?? '')
    if ((mark.chomp ? line.replace(/^\t+/, '') : line) === mark.name) return at
  }
  return null
}

function stripEnding(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}
