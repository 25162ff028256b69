/**
 * Docker's patterns, matched without backtracking: a hostile pattern costs at most length times length. A glob is a
 * sequence of states; each says which characters advance it and whether it may be skipped.
 */
export type Glob = readonly State[]

type State =
  | { readonly kind: 'one'; readonly accepts: (char: string) => boolean }
  /** Any number of accepted characters. */
  | { readonly kind: 'many'; readonly accepts: (char: string) => boolean }
  /** Nothing, or anything that ends in a slash; the next state is its own loop. */
  | { readonly kind: 'directories' }
  | { readonly kind: 'directories-loop' }

export class GlobError extends Error {
  override readonly name = 'GlobError'
}

/**
 * Parses a path pattern: `*` and `?` stop at slashes, `[a-z]` and `[^a]` are sets, and with `deep` a `**` crosses
 * slashes.
 */
export function parsePathGlob(pattern: string, options: { readonly deep: boolean }): Glob {
  const chars = Array.from(pattern)
  const states: State[] = []
  let at = 0
  while (at < chars.length) {
    const char = chars[at++] ?? ''
    if (char === '*' && options.deep && chars[at] === '*') {
      at++
      const anySuffix = at === 2 && /^[^/*?[\\][^*?[\\]*$/.test(pattern.slice(2))
      if (chars[at] === '/') at++
      if (at >= chars.length || anySuffix) states.push({ kind: 'many', accepts: () => true })
      else states.push({ kind: 'directories' }, { kind: 'directories-loop' })
    } else if (char === '*') states.push({ kind: 'many', accepts: notSlash })
    else if (char === '?') states.push({ kind: 'one', accepts: notSlash })
    else if (char === '[') {
      const set = parseSet(chars, at, pattern)
      states.push({ kind: 'one', accepts: set.accepts })
      at = set.end
    } else if (char === '\\') {
      if (at >= chars.length) throw new GlobError(`the pattern ${pattern} ends in a backslash`)
      states.push(literal(chars[at++] ?? ''))
    } else states.push(literal(char))
  }
  return states
}

/** Parses a text pattern: `*` is anything, `?` any one character; brackets are literal. */
export function parseTextGlob(pattern: string): Glob {
  const chars = Array.from(pattern)
  const states: State[] = []
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? ''
    if (char === '*') states.push({ kind: 'many', accepts: () => true })
    else if (char === '?') states.push({ kind: 'one', accepts: () => true })
    else states.push(literal(char === '\\' ? (chars[++at] ?? char) : char))
  }
  return states
}

/** Whether the glob matches the whole text. */
export function matchesGlob(glob: Glob, text: string): boolean {
  const chars = Array.from(text)
  return matchedLengths(glob, chars, 0).at(-1) === chars.length
}

/** The lengths that the glob can match from `start`, in ascending order. */
export function matchedLengths(glob: Glob, chars: readonly string[], start: number): readonly number[] {
  const lengths: number[] = []
  let alive = skipAhead(glob, new Set([0]))
  for (let at = start; alive.size > 0; at++) {
    if (alive.has(glob.length)) lengths.push(at - start)
    const char = chars[at]
    if (char === undefined) break
    alive = skipAhead(glob, step(glob, alive, char))
  }
  return lengths
}

function step(glob: Glob, alive: ReadonlySet<number>, char: string): Set<number> {
  const next = new Set<number>()
  for (const index of alive) {
    const state = glob[index]
    if (state === undefined) continue
    if (state.kind === 'one' && state.accepts(char)) next.add(index + 1)
    else if (state.kind === 'many' && state.accepts(char)) next.add(index)
    else if (state.kind === 'directories') {
      next.add(index + 1)
      if (char === '/') next.add(index + 2)
    } else if (state.kind === 'directories-loop') {
      next.add(index)
      if (char === '/') next.add(index + 1)
    }
  }
  return next
}

/** Adds states reachable without reading; a Set is iterated in insertion order, including additions. */
function skipAhead(glob: Glob, alive: Set<number>): Set<number> {
  for (const index of alive) {
    const kind = glob[index]?.kind
    if (kind === 'many') alive.add(index + 1)
    else if (kind === 'directories') alive.add(index + 2)
  }
  return alive
}

function literal(wanted: string): State {
  return { kind: 'one', accepts: (char) => char === wanted }
}

function notSlash(char: string): boolean {
  return char !== '/'
}

interface CharacterSet {
  readonly accepts: (char: string) => boolean
  readonly end: number
}

function parseSet(chars: readonly string[], start: number, pattern: string): CharacterSet {
  let at = start
  const negated = chars[at] === '^'
  if (negated) at++
  const ranges: (readonly [low: string, high: string])[] = []
  const read = () => {
    if (chars[at] === '\\') at++
    const char = chars[at++]
    if (char === undefined) throw new GlobError(`a bracket is not closed in the pattern ${pattern}`)
    return char
  }
  while (chars[at] !== ']' || ranges.length === 0) {
    const low = read()
    if (chars[at] === '-' && chars[at + 1] !== ']') {
      at++
      ranges.push([low, read()])
    } else ranges.push([low, low])
  }
  const within = (char: string) => ranges.some(([low, high]) => low <= char && char <= high)
  return { accepts: (char) => char !== '/' && within(char) !== negated, end: at + 1 }
}
