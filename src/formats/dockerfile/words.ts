import { BoundaryError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'

/** Options that follow an instruction's name, and what comes after them. */
export interface Flagged {
  readonly flags: readonly string[]
  readonly rest: string
}

/** Takes off leading `--name[=value]` words, resolving quotes and backslashes in them. */
export function takeFlags(text: string): Flagged {
  const flags: string[] = []
  let at = 0
  while (true) {
    while (isSpace(text[at])) at++
    if (!text.startsWith('--', at)) return { flags, rest: text.slice(at) }
    const { word, end } = readFlag(text, at)
    at = end
    if (word === '--') return { flags, rest: text.slice(at).trimStart() }
    flags.push(word)
  }
}

function readFlag(text: string, start: number): { readonly word: string; readonly end: number } {
  let word = ''
  let quote: string | null = null
  let at = start
  for (; at < text.length && (quote !== null || !isSpace(text[at])); at++) {
    let char = text.charAt(at)
    if (quote === null ? char === '"' || char === "'" : char === quote) {
      quote = quote === null ? char : null
      continue
    }
    if (char === '\\') char = text.charAt(++at)
    word += char
  }
  return { word, end: at }
}

/** Splits at unquoted white space, keeping quotes and escapes; `closed` is false if a quote is left open. */
export function splitRaw(
  text: string,
  escapeChar: string,
): { readonly words: readonly string[]; readonly closed: boolean } {
  const words: string[] = []
  let word: string | null = null
  let quote: string | null = null
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (quote === null && isSpace(char)) {
      if (word !== null) words.push(word)
      word = null
      continue
    }
    word = (word ?? '') + char
    if (char === escapeChar && quote !== "'") word += text.charAt(++at)
    else if (quote === null && (char === '"' || char === "'")) quote = char
    else if (char === quote) quote = null
  }
  if (word !== null) words.push(word)
  return { words, closed: quote === null }
}

/** Splits at any white space, quoted or not, as COPY does. */
export function splitPlain(text: string): readonly string[] {
  return text.split(/[\t\v\f\r ]+/).filter((word) => word !== '')
}

/** The strings of a JSON array; null if the text is not a JSON array, `mixed` if it holds anything but strings. */
export function parseJsonStrings(text: string): readonly string[] | 'mixed' | null {
  if (!text.startsWith('[')) return null
  let value: unknown
  try {
    value = readJson(text)
  } catch {
    return null
  }
  if (!Array.isArray(value)) return null
  const strings = value.filter((item): item is string => typeof item === 'string' && !item.includes('\0'))
  return strings.length === value.length ? strings : 'mixed'
}

function isSpace(char: string | undefined): boolean {
  return char !== undefined && /\s/.test(char)
}

/** A place in a Dockerfile, for messages. */
export interface Place {
  /** As shown to people, for example `environment/Dockerfile`. */
  readonly file: string
  readonly line: number
}

/** An error blamed on the task: its Dockerfile is wrong, or needs something unsupported here. */
export function dockerfileError(at: Place, message: string): BoundaryError {
  return new BoundaryError('task', `${at.file}:${at.line}: ${message}`, {
    code: 'EnvironmentBuildError',
    retryable: false,
  })
}
