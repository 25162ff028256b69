import type { CodeLine } from './shell-text.ts'

/** One place where a test script writes a reward file with echo or printf. */
export interface RewardWrite {
  /** The normalised literals it can write; null when the text does not show them. */
  readonly values: readonly string[] | null
  readonly line: CodeLine
}

const rewardFile = /reward\.(?:txt|json)\b/g
const write = /\b(echo|printf)\s([^;&|<>]{0,400})>>?\s*["']?[^\s"';|&<>]{0,200}reward\.(?:txt|json)\b/g
const harmless =
  /(?:-[efsrz]|\bcat|<|\brm(?: -\w+)*|\bls(?: -\w+)*|\bchmod \S+|\btouch)\s+["']?[^\s"';|&<>()]{0,200}reward\.(?:txt|json)\b/g

/** The rewards that a script's lines write with echo or printf, in order. */
export interface RewardWrites {
  readonly writes: readonly RewardWrite[]
  /** False when reward files are also named in other ways, so that this list is incomplete. */
  readonly complete: boolean
}

export function findRewardWrites(lines: readonly CodeLine[]): RewardWrites {
  const writes: RewardWrite[] = []
  let complete = true
  for (const line of lines) {
    const found = [...line.code.matchAll(write)]
    const accountedFor = found.length + count(line.code, harmless)
    if (count(line.code, rewardFile) > accountedFor) complete = false
    for (const [, program, words] of found) {
      writes.push({ values: valuesOf(lines, program === 'printf', (words ?? '').trim()), line })
    }
  }
  return { writes, complete }
}

function valuesOf(lines: readonly CodeLine[], printf: boolean, words: string): string[] | null {
  const word = unquote(words.replace(/^-[neE]+\s+/, ''))
  const filled = printf ? /^["']?%[sdif](?:\\n)?["']?\s+(.+)$/.exec(word)?.[1] : undefined
  const text = unquote(filled ?? word)
  const variable = /^\$(?:(\w+)|\{(\w+)\})$/.exec(text)
  if (variable) return assigned(lines, variable[1] ?? variable[2] ?? '')
  return /[$`%]/.test(text) ? null : [normalise(text)]
}

/** The literals a variable is ever set to; null when it may be anything. */
function assigned(lines: readonly CodeLine[], name: string): string[] | null {
  const set = new RegExp(`(?:^|[\\s;({])${name}=("[^"]*"|'[^']*'|[^\\s;&|)]*)`, 'g')
  const computed = new RegExp(
    `\\b(?:read|let|for|printf -v)\\s[^;|&]*\\b${name}\\b|\\(\\([^)]*\\b${name}\\b|\\b${name}\\+=`,
  )
  const values: string[] = []
  for (const { code } of lines) {
    if (computed.test(code)) return null
    for (const [, value] of code.matchAll(set)) {
      const text = unquote(value ?? '')
      if (/[$`]/.test(text)) return null
      values.push(normalise(text))
    }
  }
  return values.length > 0 ? values : null
}

function unquote(text: string): string {
  return /^(['"]).*\1$/.test(text) ? text.slice(1, -1) : text
}

/** `1`, `1.0` and `1\n` are the same reward. */
function normalise(text: string): string {
  const plain = text.replace(/\\n/g, '').trim()
  return /^[+-]?\d+(?:\.\d+)?$/.test(plain) ? String(Number(plain)) : plain
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
