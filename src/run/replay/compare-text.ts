/** One side of a comparison, and when it was made, which determines what its clock may have shown. */
export interface Side {
  readonly text: string
  /** Null when unknown. */
  readonly at: Date | null
}

/** Something that may differ between two runs of the same actions. */
interface Rule {
  readonly kind: string
  readonly why: string
  readonly pattern: RegExp
  /** What must precede it on its line. */
  readonly after?: RegExp
  /** Whether this text, seen at that time, really is of this kind; by default it is. */
  readonly holds?: (text: string, at: Date) => boolean
  /** Whether two texts of this kind may replace each other; by default they may. */
  readonly alike?: (recorded: string, received: string) => boolean
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const weekday = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const clock = String.raw`\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?`

/**
 * Everything that may differ, with the reason; any other difference is real. Earlier rules win. A task's data stays
 * data: a date far from the run, a digest, or a number without a unit is compared literally. A pattern begins only at
 * the start of a run of digits or blanks; otherwise a long run would take quadratic time.
 */
export const rules: readonly Rule[] = [
  {
    kind: 'uuid',
    why: 'sessions, requests and messages are named by random UUIDs',
    pattern: /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi,
  },
  { kind: 'key', why: 'every trial has a key of its own', pattern: /\bsk-trial-[\w-]+/g },
  {
    kind: 'home',
    why: 'a command-line agent lives in a home directory with a random name',
    pattern: /\/ot-agent-homes\/[0-9a-f]{8}\b/g,
  },
  {
    kind: 'temp',
    why: 'mktemp and its kin choose random names',
    pattern: /\/tmp\/tmp(?:[._-][A-Za-z0-9_]{6,12}|[a-z0-9_]{8})(?![\w-])/g,
  },
  {
    kind: 'file-time',
    why: 'in a long listing, files are as old as the run that wrote them',
    pattern: new RegExp(`${month} [ \\d]\\d +[\\d:]{4,5}|\\d{4}-\\d\\d-\\d\\d ${clock}`, 'g'),
    after: /^(?:\d+ +)?[-dlbcps][-rwxsStT]{9}[+.@]? +\d+ +\S+ +\S+ +[\d,.]+[KMG]? +$/,
  },
  {
    kind: 'progress',
    why: 'git filter-branch shows how far it was each second',
    pattern: /\bRewrite [0-9a-f]{40} \(\d+\/\d+\) \(\d+ seconds passed, remaining \d+ predicted\)/g,
  },
  {
    kind: 'clock',
    why: 'a date near the run',
    pattern: new RegExp(
      [
        String.raw`\b\d{4}-\d\d-\d\d(?:[T ]${clock}(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?`,
        String.raw`\b${weekday}[a-z]*,? +(?:\d{1,2} +)?${month}[a-z]*(?: +\d{1,2})?(?:,? +\d{4})?(?: +\d\d:\d\d:\d\d(?: [AP]M)?(?: [A-Z]{3,4}| [+-]\d{4})?(?: \d{4})?)?`,
        String.raw`\b\d{1,2}/\d{1,2}/\d{4}(?:, \d{1,2}:\d\d:\d\d(?: [AP]M)?)?`,
      ].join('|'),
      'g',
    ),
    holds: (text, at) => Math.abs(timeIn(text, at) - at.getTime()) <= 2 * dayMs,
  },
  {
    kind: 'time-of-day',
    why: 'a time of day near the run',
    pattern: /\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g,
    holds: (text, at) => hoursAfter(text, at) <= 6,
  },
  {
    kind: 'epoch',
    why: 'seconds or milliseconds since 1970, near the run',
    pattern: /\b(?:\d{10}(?:\.\d+)?|\d{13})\b/g,
    holds: (text, at) => Math.abs(Number(text) * (text.length === 13 ? 1 : 1000) - at.getTime()) <= 2 * dayMs,
  },
  {
    kind: 'time-left',
    why: 'the agent is told how much of its time is left',
    pattern: /\b\d+\b/g,
    after: /Time left for this task: $/,
  },
  {
    kind: 'duration',
    why: 'the same command takes another time',
    pattern: /\b\d+m\d+(?:\.\d+)?s\b|\b\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|secs?|seconds?)\b/g,
    // Whole seconds on both sides are more likely a setting than a measurement.
    alike: (recorded, received) => isMeasured(recorded) || isMeasured(received),
  },
  {
    kind: 'rate',
    why: 'the same command runs at another speed',
    pattern: /\b\d+(?:\.\d+)? ?[kKMG]?i?[Bb](?:ytes)?\/s(?:ec)?\b/g,
  },
  { kind: 'job', why: 'processes are numbered as they come', pattern: /(?<!\d)\d+$/gm, after: /^\[\d+\][+-]? +$/ },
  {
    kind: 'pid',
    why: 'processes are numbered as they come',
    pattern: /(?<!\d)\d+\b/g,
    after: /\b(?:pid|PID|PGID|process id|Process ID)[ :=#]+$/,
  },
  {
    kind: 'process',
    why: 'processes are numbered as they come',
    pattern: /^ *\d+(?= +(?:pts\/\d+|tty\d*|\?) )|(?<! ) +\d+(?= +\d+\.\d +\d+\.\d +\d+ +\d+ )/gm,
  },
  {
    kind: 'processes',
    why: 'in a listing of the root, /proc has as many links as there are processes',
    pattern: /^dr-xr-xr-x +\d+(?= +(?:root +root|nobody +nogroup) +0 .* proc$)/gm,
  },
  {
    kind: 'padding',
    why: 'in a long listing, the links of /proc decide how wide their column is',
    pattern: /(?<! ) +(?=\d+ +\S+ +\S+ +[\d,.]+[KMG]? )/g,
    after: /^(?:\d+ +)?[-dlbcps][-rwxsStT]{9}[+.@]?$/,
  },
  {
    kind: 'chunk',
    why: 'codex names every piece of output at random',
    pattern: /\b[0-9a-f]{6}$/gm,
    after: /^Chunk ID: $/,
  },
  { kind: 'address', why: 'objects lie elsewhere in memory', pattern: /\b0x[0-9a-f]{9,16}\b/g },
  {
    kind: 'port',
    why: 'what listens on this machine gets a free port',
    pattern: /\b(?:127\.0\.0\.1|localhost|\[::1\]):(?:3[3-9]|[45]\d|6[0-5])\d{3}\b/g,
  },
  {
    kind: 'commit',
    why: 'the name of a commit depends on its time',
    pattern: /\b[0-9a-f]{7,40}\b/g,
    after: /^commit $|^\[[\w./-]+(?: \(root-commit\))? $|\bHEAD is now at $/,
  },
]

interface Piece {
  /** Null for text that must be the same. */
  readonly rule: Rule | null
  readonly text: string
}

/**
 * The first real difference between two texts, with some context; null when they do not differ, or only where they may.
 */
export function differenceOf(
  recorded: Side,
  received: Side,
): { readonly expected: string; readonly got: string } | null {
  if (recorded.text === received.text) return null
  const [before, now] = [piecesOf(recorded.text), piecesOf(received.text)]
  for (let i = 0; i < Math.max(before.length, now.length); i++) {
    const [a, b] = [before[i], now[i]]
    if (a && b && mayStandFor(a, b, recorded.at, received.at)) continue
    const same = a && b ? sharedLength(a.text, b.text) : 0
    return { expected: excerpt(before, i, same), got: excerpt(now, i, same) }
  }
  return null
}

function mayStandFor(a: Piece, b: Piece, before: Date | null, now: Date | null): boolean {
  if (a.text === b.text) return true
  const { rule } = a
  if (rule === null || b.rule !== rule) return false
  const { holds = () => true, alike = () => true } = rule
  const isPossible = (text: string, at: Date | null) => at === null || holds(text, at)
  return isPossible(a.text, before) && isPossible(b.text, now) && alike(a.text, b.text)
}

/** Splits a text into parts that must be the same and parts that may differ. */
function piecesOf(whole: string): Piece[] {
  const text = withoutHosts(whole)
  const spans: { start: number; end: number; rule: Rule }[] = []
  const taken = new Uint8Array(text.length)
  for (const rule of rules)
    for (const { 0: found, index: start } of text.matchAll(rule.pattern)) {
      const end = start + found.length
      if (taken.subarray(start, end).includes(1)) continue
      if (rule.after && !rule.after.test(lineBefore(text, start))) continue
      spans.push({ start, end, rule })
      taken.fill(1, start, end)
    }
  const pieces: Piece[] = []
  let done = 0
  for (const { start, end, rule } of spans.sort((a, b) => a.start - b.start)) {
    pieces.push({ rule: null, text: text.slice(done, start) }, { rule, text: text.slice(start, end) })
    done = end
  }
  return [...pieces, { rule: null, text: text.slice(done) }]
}

/** The text before a position on its line; for a long line only the end, which then does not look like a line start. */
function lineBefore(text: string, at: number): string {
  const near = text.slice(Math.max(0, at - 300), at)
  const feed = near.lastIndexOf('\n')
  return feed < 0 && at > 300 ? `...${near}` : near.slice(feed + 1)
}

/** A text with more of them was made to be slow. */
const mostHosts = 20
const prompt = /^(?:\([\w.-]{1,40}\) )?[a-z_][\w-]{0,31}@([\w.-]{1,64}):[~/]/gm

/** Replaces the host name shown in shell prompts wherever it occurs: containers get a new name each time. */
function withoutHosts(text: string): string {
  const names = new Set([...text.matchAll(prompt)].map(([, name = '']) => name))
  let replaced = text
  for (const name of [...names].slice(0, mostHosts)) {
    const literal = name.replaceAll(/[.-]/g, String.raw`\$&`)
    replaced = replaced.replace(new RegExp(String.raw`(?<![\w.-])${literal}(?![\w.-])`, 'g'), '<host>')
  }
  return replaced
}

const around = 60

function excerpt(pieces: readonly Piece[], index: number, same: number): string {
  const before = pieces
    .slice(0, index)
    .map(({ text }) => text)
    .join('')
  const at = before.length + same
  const whole =
    before +
    pieces
      .slice(index)
      .map(({ text }) => text)
      .join('')
  const [start, end] = [Math.max(0, at - around), Math.min(whole.length, at + 2 * around)]
  return `${start > 0 ? '...' : ''}${whole.slice(start, end)}${end < whole.length ? '...' : ''}`
}

function sharedLength(a: string, b: string): number {
  let same = 0
  while (same < a.length && a[same] === b[same]) same++
  return same
}

function isMeasured(duration: string): boolean {
  return duration.includes('.') || /^\d+m|ms$|µs$|us$|ns$/.test(duration)
}

/** The time that a text names, in UTC if it gives no zone; a missing year is the run's. */
function timeIn(text: string, at: Date): number {
  const [, date, time = '00:00', zone = 'Z'] = /^(\d{4}-\d\d-\d\d)(?:[T ]([\d:.,]+) ?(.*))?$/.exec(text) ?? []
  if (date !== undefined)
    return Date.parse(`${date}T${time.replace(',', '.')}${/^(?:UTC|GMT)?$/.test(zone) ? 'Z' : zone}`)
  const year = /\d{4}(?!\d)/.test(text.replace(/[+-]\d{4}/, '')) ? '' : ` ${at.getUTCFullYear()}`
  const zoned = /UTC|GMT|[+-]\d{4}$/.test(text) ? '' : ' UTC'
  return Date.parse(`${text.replace(new RegExp(`^${weekday}[a-z]*,? +`), '')}${year}${zoned}`)
}

/**
 * How many hours after the start of the run a time of day next occurs; times a few minutes before the start are treated
 * as the start.
 */
function hoursAfter(text: string, at: Date): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number)
  const apart = hours * hourMs + minutes * 60_000 + seconds * 1000 - ((at.getTime() - hourMs / 12) % dayMs)
  return ((apart + dayMs) % dayMs) / hourMs
}
