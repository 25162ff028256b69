import { type Glob, matchedLengths, parseTextGlob } from './glob.ts'
import { dockerfileError, type Place } from './words.ts'

/** The values of variables; a missing name is unset. */
export type Variables = ReadonlyMap<string, string>

export interface ExpandOptions {
  /** The file's escape character. Default: a backslash. */
  readonly escapeChar?: string
  /** False leaves quotes alone, as in the text of a heredoc. Default: true. */
  readonly quotes?: boolean
}

/** Thrown for a malformed substitution; the caller knows the line. */
class ExpansionError extends Error {
  override readonly name = 'ExpansionError'
}

/** Expands `$x`, `${x}` and Docker's modifiers, and resolves quotes and escapes. */
export function expand(text: string, variables: Variables, options: ExpandOptions = {}): string {
  const reader = new Reader(text, variables, options.escapeChar ?? '\\', options.quotes ?? true)
  return reader.until(null, false)
}

/** Deeper nesting does not occur in an honest Dockerfile. */
const deepest = 100

class Reader {
  private at = 0
  private depth = 0
  constructor(
    private readonly text: string,
    private readonly variables: Variables,
    private readonly escapeChar: string,
    private readonly quotes: boolean,
  ) {}

  /** Reads up to and past `stop`; `rawEscapes` keeps escape characters, for patterns. */
  until(stop: string | null, rawEscapes: boolean): string {
    let out = ''
    while (this.at < this.text.length) {
      const char = this.text.charAt(this.at)
      if (char === stop) {
        this.at++
        return out
      }
      if (char === '$') out += this.dollar()
      else if (char === "'" && this.quotes) out += this.singleQuoted()
      else if (char === '"' && this.quotes) out += this.doubleQuoted(rawEscapes)
      else if (char === this.escapeChar) {
        out += (rawEscapes ? char : '') + this.text.charAt(this.at + 1)
        this.at += 2
      } else {
        out += char
        this.at++
      }
    }
    if (stop !== null) throw new ExpansionError(`missing ${stop} in ${this.text}`)
    return out
  }

  private singleQuoted(): string {
    const end = this.text.indexOf("'", this.at + 1)
    if (end < 0) throw new ExpansionError(`a single quote is not closed in ${this.text}`)
    const inside = this.text.slice(this.at + 1, end)
    this.at = end + 1
    return inside
  }

  private doubleQuoted(rawEscapes: boolean): string {
    let out = ''
    this.at++
    while (this.at < this.text.length) {
      const char = this.text.charAt(this.at)
      const after = this.text.charAt(this.at + 1)
      if (char === '"') {
        this.at++
        return out
      }
      if (char === '$') out += this.dollar()
      else if (char === this.escapeChar && (after === '"' || after === '$' || after === this.escapeChar)) {
        out += (rawEscapes ? char : '') + after
        this.at += 2
      } else {
        out += char
        this.at++
      }
    }
    throw new ExpansionError(`a double quote is not closed in ${this.text}`)
  }

  private dollar(): string {
    this.at++
    if (this.text.charAt(this.at) === '{') return this.braced()
    const name = this.name()
    return name === '' ? '$' : (this.variables.get(name) ?? '')
  }

  private name(): string {
    const match = /^(?:\d+|[@*#?\-$!]|[\p{L}_][\p{L}\p{Nd}_]*)/u.exec(this.text.slice(this.at))
    this.at += match?.[0].length ?? 0
    return match?.[0] ?? ''
  }

  private braced(): string {
    this.at++
    const name = this.name()
    if (name === '') throw new ExpansionError(`bad substitution in ${this.text}`)
    const value = this.variables.get(name)
    let operator = this.text.charAt(this.at++)
    if (operator === '}') return value ?? ''
    if (operator === '/') return this.replaced(value ?? '')
    const emptyIsUnset = operator === ':'
    if (emptyIsUnset) operator = this.text.charAt(this.at++)
    const word = this.nested('}', operator === '#' || operator === '%')
    const isSet = value !== undefined && !(emptyIsUnset && value === '')
    if (operator === '-') return isSet ? value : word
    if (operator === '+') return isSet ? word : ''
    if (operator === '?') {
      if (isSet) return value
      throw new ExpansionError(`${name}: ${word || `must not be ${emptyIsUnset ? 'empty' : 'unset'}`}`)
    }
    if (operator === '#' || operator === '%') return trim(value ?? '', word, operator)
    throw new ExpansionError(`the modifier ${JSON.stringify(operator)} is not known in ${this.text}`)
  }

  private nested(stop: string, rawEscapes: boolean): string {
    if (++this.depth > deepest) throw new ExpansionError(`more than ${deepest} substitutions are inside one another`)
    const text = this.until(stop, rawEscapes)
    this.depth--
    return text
  }

  private replaced(value: string): string {
    const all = this.text.charAt(this.at) === '/'
    if (all) this.at++
    const pattern = this.nested('/', true)
    const replacement = this.nested('}', true)
    return replace(value, parseTextGlob(pattern), replacement, all)
  }
}

/** `#` and `%` remove the shortest match at the start or end; doubled, the longest. */
function trim(value: string, word: string, operator: '#' | '%'): string {
  const longest = word.startsWith(operator)
  const glob = parseTextGlob(longest ? word.slice(1) : word)
  const fromEnd = operator === '%'
  const chars = fromEnd ? Array.from(value).reverse() : Array.from(value)
  const lengths = matchedLengths(fromEnd ? [...glob].reverse() : glob, chars, 0)
  const rest = chars.slice(lengths.at(longest ? -1 : 0) ?? 0)
  return (fromEnd ? rest.reverse() : rest).join('')
}

/** Longer values are not worth quadratic time. */
const maxReplaceLength = 10_000

function replace(value: string, glob: Glob, replacement: string, all: boolean): string {
  const chars = Array.from(value)
  if (chars.length > maxReplaceLength)
    throw new ExpansionError(`a value of ${chars.length} characters is too long to replace in`)
  let out = ''
  let at = 0
  while (at < chars.length) {
    const length = matchedLengths(glob, chars, at).at(-1) ?? 0
    if (length === 0) {
      out += chars[at++] ?? ''
      continue
    }
    out += replacement
    at += length
    if (!all) break
  }
  return out + chars.slice(at).join('')
}

/** Expands a word from a known line; errors name that line. */
export function expandAt(text: string, variables: Variables, at: Place, options: ExpandOptions = {}): string {
  try {
    return expand(text, variables, options)
  } catch (error) {
    if (error instanceof ExpansionError) throw dockerfileError(at, error.message)
    throw error
  }
}
