/** Limits of a JSON text, checked before anything is built from it. */
export interface JsonLimits {
  /** How deep objects and lists may be nested. */
  readonly depth: number
  /** How many objects, lists and fields there may be. */
  readonly nodes: number
}

/** For requests by agents. Lower than for files, in which such values are nested deeper. */
export const requestLimits: JsonLimits = { depth: 64, nodes: 1_000_000 }
/** For replies of models: log probabilities of every token are many values. */
export const replyLimits: JsonLimits = { depth: 64, nodes: 20_000_000 }
/** For files: recursive functions can safely walk any document within these limits. */
export const fileLimits: JsonLimits = { depth: 128, nodes: 20_000_000 }

/** Parses a text as JSON; throws SyntaxError if it is not JSON, too deeply nested or too large to work with. */
export function readJson(text: string, limits = fileLimits): unknown {
  const beyond = beyondLimits(text, limits)
  if (beyond !== null) throw new SyntaxError(beyond)
  return JSON.parse(text)
}

/** Parses a text as JSON; undefined if it is not JSON or exceeds `limits`. */
export function parseJson(text: string, limits = fileLimits): unknown {
  try {
    return readJson(text, limits)
  } catch {
    return undefined
  }
}

/** A value as a user types it: parsed as JSON if possible, otherwise the text itself. */
export function jsonOrText(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}

/**
 * What a JSON text has too much of, for a person; null when it is within the limits. Only brackets and quotes are
 * examined.
 */
export function beyondLimits(text: string, { depth, nodes }: JsonLimits): string | null {
  // Most texts cannot be too deep: a level takes two characters.
  if (text.length <= 2 * Math.min(depth, nodes)) return null
  let level = 0
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === openBrace || code === openBracket) {
      if (++level > depth) return `nested more than ${depth} levels deep`
      if (++count > nodes) return `more than ${nodes} values`
    } else if (code === closeBrace || code === closeBracket) level--
    else if (code === colon && ++count > nodes) return `more than ${nodes} values`
  }
  return null
}

const [quote, openBrace, closeBrace, openBracket, closeBracket, colon] = [0x22, 0x7b, 0x7d, 0x5b, 0x5d, 0x3a]

function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return at
  }
  return text.length
}

/** Whether a value is nested too deeply for recursive functions; a cyclic value is. */
export function isTooDeep(value: unknown): boolean {
  const seen = new Map<object, number>()
  const waiting: [value: unknown, level: number][] = [[value, 1]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [item, level] = next
    if (typeof item !== 'object' || item === null || (seen.get(item) ?? 0) >= level) continue
    if (level > fileLimits.depth) return true
    seen.set(item, level)
    for (const inner of Object.values(item)) waiting.push([inner, level + 1])
  }
  return false
}
