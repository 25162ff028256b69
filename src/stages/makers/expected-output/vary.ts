import type { Random } from '../../../lib/random.ts'

/** What a script is run on: files in its folder, words after its name, and its standard input. */
export interface Case {
  readonly files: Readonly<Record<string, string>>
  readonly args: readonly string[]
  readonly stdin: string
}

/** Other inputs of the same shape as one that was shown: a script that only knows what was shown fails on them. */
export function varyCase(shown: Case, random: Random, count: number): Case[] {
  const seen = new Set([JSON.stringify(shown)])
  const cases: Case[] = []
  for (let tries = 0; tries < count * 5 && cases.length < count; tries++) {
    const way = ways[tries % ways.length] ?? shuffled
    const files = Object.fromEntries(
      Object.entries(shown.files).map(([name, text]) => [name, varyText(text, way, random)]),
    )
    const varied = { files, args: varyArgs(shown.args, random), stdin: varyText(shown.stdin, way, random) }
    const key = JSON.stringify(varied)
    if (!seen.has(key)) cases.push(varied)
    seen.add(key)
  }
  return cases
}

type Way = (records: readonly string[], random: Random) => string[]

const shuffled: Way = (records, random) => random.shuffle(records)
const fewer: Way = (records, random) => random.sample(records, Math.max(1, Math.ceil(records.length / 2)))
const more: Way = (records, random) => [
  ...records,
  ...random.shuffle(records).map((record) => otherNumbers(record, random)),
]
const changed: Way = (records, random) => random.shuffle(records.map((record) => otherNumbers(record, random)))
const ways = [shuffled, more, fewer, changed]

/** The first line or paragraph stays: it may say what the others mean. */
function varyText(text: string, way: Way, random: Random): string {
  if (text.trim() === '') return text
  const between = /\n[ \t]*\n/.test(text.trim()) ? '\n\n' : '\n'
  const [first = '', ...rest] = text.trimEnd().split(between === '\n' ? /\n/ : /\n[ \t]*\n+/)
  return `${[first, ...(rest.length === 0 ? [] : way(rest, random))].join(between)}\n`
}

/** Whole numbers become others of as many digits; what looks like part of a name, a date or an address stays. */
function otherNumbers(text: string, random: Random): string {
  return text.replace(/(?<![\w.:/-])\d+(?![\w.:/-])/g, (digits) => otherNumber(digits, random))
}

function otherNumber(digits: string, random: Random): string {
  const lowest = digits.length === 1 ? 0 : 1
  return [...digits].map((_, i) => String(i === 0 ? lowest + random.below(10 - lowest) : random.below(10))).join('')
}

/** Numbers become other small ones, options stay, words are exchanged with one another or for another. */
function varyArgs(args: readonly string[], random: Random): string[] {
  const words = random.shuffle([...args.filter(isWord), 'amber', 'birch', 'canyon'])
  return args.map((arg) => {
    if (/^\d{1,6}$/.test(arg)) return String(1 + random.below(Number(arg) * 2 + 3))
    return isWord(arg) ? (words.pop() ?? arg) : arg
  })
}

function isWord(arg: string): boolean {
  return /^[A-Za-z]{2,}$/.test(arg)
}
