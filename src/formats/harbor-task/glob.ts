/** One element of a glob: a literal character, any one, any number, or one of a set. */
export type GlobToken = string | { readonly kind: 'any' | 'star' } | { readonly kind: 'set'; readonly set: RegExp }

/** Parses one path segment of a pattern; null if it can match nothing, as with a lone trailing backslash. */
export function parseGlob(glob: string): GlobToken[] | null {
  const chars = [...glob]
  const tokens: GlobToken[] = []
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] ?? ''
    const bracket = char === '[' ? bracketAt(chars.slice(i).join('')) : null
    if (bracket !== null) {
      const set = parseSet(bracket)
      if (set === null) return null
      tokens.push({ kind: 'set', set })
      i += [...bracket].length - 1
    } else if (char === '\\') {
      const escaped = chars[++i]
      if (escaped === undefined) return null
      tokens.push(escaped)
    } else {
      tokens.push(char === '*' ? { kind: 'star' } : char === '?' ? { kind: 'any' } : char)
    }
  }
  return tokens
}

/** Whether a path segment matches; on a mismatch the latest star takes one more character. */
export function matchGlob(tokens: readonly GlobToken[], chars: readonly string[]): boolean {
  let token = 0
  let char = 0
  let star = -1
  let starChar = 0
  while (char < chars.length) {
    const current = tokens[token]
    if (typeof current === 'object' && current.kind === 'star') {
      star = token++
      starChar = char
    } else if (current !== undefined && matchesOne(current, chars[char] ?? '')) {
      token++
      char++
    } else if (star >= 0) {
      token = star + 1
      char = ++starChar
    } else {
      return false
    }
  }
  return tokens.slice(token).every((rest) => typeof rest === 'object' && rest.kind === 'star')
}

function matchesOne(token: GlobToken, char: string): boolean {
  if (typeof token === 'string') return token === char
  return token.kind === 'any' || (token.kind === 'set' && token.set.test(char))
}

/** The bracket expression at the start, in which a first `]` is a member; null if it is never closed. */
function bracketAt(text: string): string | null {
  return /^\[(?:[!^]|(?![!^]))(?:\][^\]]*|[^\]]+)\]/u.exec(text)?.[0] ?? null
}

function parseSet(bracket: string): RegExp | null {
  const isNegated = /^\[[!^]/.test(bracket)
  const members = bracket.slice(isNegated ? 2 : 1, -1).replace(/[\\\][^]/g, '\\$&')
  try {
    return new RegExp(`^[${isNegated ? '^' : ''}${members}]$`, 'u')
  } catch {
    return null // A range such as [z-a] is empty.
  }
}
