/** A secret in a text: its kind and position, never its value. */
export interface FoundSecret {
  readonly kind: string
  readonly start: number
  readonly end: number
}

interface Shape {
  readonly kind: string
  /**
   * Lower-case strings of which every secret of this shape contains one: a quick test spares most texts the slow
   * search.
   */
  readonly holds: readonly string[]
  /** Its first group, or otherwise the whole match, is the secret. */
  readonly pattern: RegExp
  /** The shape alone is weak evidence: only random-looking values count. */
  readonly vague?: boolean
}

/** Specific shapes first: where two overlap, the first wins. */
const shapes: readonly Shape[] = [
  {
    kind: 'private-key',
    holds: ['private key'],
    pattern: /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]*?-----END (?:[A-Z]+ )*PRIVATE KEY-----/g,
  },
  { kind: 'aws-access-key', holds: ['akia', 'asia'], pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  {
    kind: 'github-token',
    holds: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
    pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255})\b/g,
  },
  { kind: 'gitlab-token', holds: ['glpat-'], pattern: /\bglpat-[\w-]{20,}/g },
  { kind: 'anthropic-key', holds: ['sk-ant-'], pattern: /\bsk-ant-[\w-]{32,}/g },
  { kind: 'openai-key', holds: ['sk-'], pattern: /\bsk-(?:proj-|svcacct-|admin-)?(?=[\w-]*\d)[A-Za-z0-9_-]{32,}/g },
  { kind: 'hub-token', holds: ['hf_'], pattern: /\bhf_[A-Za-z0-9]{30,}\b/g },
  { kind: 'google-key', holds: ['aiza'], pattern: /\bAIza[\w-]{35}\b/g },
  { kind: 'slack-token', holds: ['xox'], pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{20,}/g },
  { kind: 'stripe-key', holds: ['k_live_'], pattern: /\b[sr]k_live_[A-Za-z0-9]{20,}\b/g },
  { kind: 'npm-token', holds: ['npm_'], pattern: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { kind: 'pypi-token', holds: ['pypi-agei'], pattern: /\bpypi-AgEI[\w-]{50,}/g },
  { kind: 'web-token', holds: ['eyj'], pattern: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
  { kind: 'bearer-token', holds: ['bearer'], pattern: /\b[Bb]earer\s+([\w.~+/-]{20,}=*)/g, vague: true },
  { kind: 'url-password', holds: ['://'], pattern: /\b\w+:\/\/[^/\s:@"']{1,100}:([^/\s@"']{12,200})@/g, vague: true },
  {
    kind: 'assigned-secret',
    holds: ['key', 'secret', 'token', 'passw', 'credential'],
    pattern: /(?:api_?key|secret|token|passwd|password|credential)\w*\\?["']?\s*[=:]\s*\\?["']?([\w+/.-]{20,200}=*)/gi,
    vague: true,
  },
]

/** Every secret in a text by its shape, and every occurrence of a `known` value, in order and without overlaps. */
export function findSecrets(text: string, known: readonly string[] = []): readonly FoundSecret[] {
  const found: FoundSecret[] = known.flatMap((value) => placesOf(text, value))
  const lower = text.toLowerCase()
  for (const { kind, pattern, vague } of shapes.filter(({ holds }) => holds.some((part) => lower.includes(part))))
    for (const match of text.matchAll(pattern)) {
      const secret = match[1] ?? match[0]
      const start = match.index + match[0].lastIndexOf(secret)
      if (isPlaceholder(secret) || (vague && !looksRandom(secret))) continue
      const end = start + secret.length
      if (!found.some((other) => start < other.end && other.start < end)) found.push({ kind, start, end })
    }
  return found.sort((a, b) => a.start - b.start)
}

/** A text with each secret replaced by its kind. */
export function redactSecrets(text: string, known: readonly string[] = []): string {
  let redacted = ''
  let from = 0
  for (const { kind, start, end } of findSecrets(text, known)) {
    redacted += `${text.slice(from, start)}[redacted ${kind}]`
    from = end
  }
  return redacted + text.slice(from)
}

function placesOf(text: string, value: string): FoundSecret[] {
  const found: FoundSecret[] = []
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
    found.push({ kind: 'host-secret', start: at, end: at + value.length })
  return found
}

/** Words from documentation, and values that are not random enough. */
function isPlaceholder(secret: string): boolean {
  return (
    /example|placeholder|dummy|changeme|your[_-]?|x{6}|\.\.\.|1234567890abcdef/i.test(secret) ||
    new Set(secret).size < 6
  )
}

/** Letters and digits without a pattern: not a word, a path, a version or a commit hash. */
function looksRandom(secret: string): boolean {
  if (!/\d/.test(secret) || !/[a-z]/i.test(secret) || /^[0-9a-f-]+$/.test(secret) || /[/.].*[/.]/.test(secret))
    return false
  const counts = new Map<string, number>()
  for (const letter of secret) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  const bits = [...counts.values()].reduce((sum, n) => sum - (n / secret.length) * Math.log2(n / secret.length), 0)
  return bits >= 3.3
}
