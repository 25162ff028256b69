import type { Random } from '../../../lib/random.ts'

/** The input of a script: files in its folder, command-line arguments, and standard input. */
export interface Case {
  readonly files: Readonly<Record<string, string>>
  readonly args: readonly string[]
  readonly stdin: string
}

/** How inputs are varied. */
export interface Varying {
  readonly count: number
  /** For programs that expect sorted lines, like join and comm: sorted texts stay sorted, without new repetitions. */
  readonly keepsSorted?: boolean
}

/** Other inputs of the same shape as the one shown: a script that only knows the shown one fails on them. */
export function varyCase(shown: Case, random: Random, { count, keepsSorted = false }: Varying): Case[] {
  const seen = new Set([JSON.stringify(shown)])
  const cases: Case[] = []
  for (let tries = 0; tries < count * 5 && cases.length < count; tries++) {
    const way = ways[tries % ways.length] ?? shuffled
    const vary = (text: string) => {
      const varied = varyText(text, way, random)
      return keepsSorted && isSorted(text) ? sorted(varied, text) : varied
    }
    const files = Object.fromEntries(Object.entries(shown.files).map(([name, text]) => [name, vary(text)]))
    const varied = { files, args: varyArgs(shown.args, random), stdin: vary(shown.stdin) }
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

/** The first line or paragraph stays: it may explain the others. A text without a final line break gets none. */
function varyText(text: string, way: Way, random: Random): string {
  if (text.trim() === '') return text
  const end = text.endsWith('\n') ? '\n' : ''
  if (isFewWords(text) && way !== more) return `${otherWords(text.trimEnd(), random)}${end}`
  const between = /\n[ \t]*\n/.test(text.trim()) ? '\n\n' : '\n'
  const [first = '', ...rest] = text.trimEnd().split(between === '\n' ? /\n/ : /\n[ \t]*\n+/)
  return `${[first, ...(rest.length === 0 ? [] : way(rest, random))].join(between)}${end}`
}

/** One or two lines of plain words: there is little else to vary, and no columns to preserve. */
function isFewWords(text: string): boolean {
  return /^[A-Za-z]+(?: [A-Za-z]+)+(?:\n[A-Za-z]+(?: [A-Za-z]+)*)?\n?$/.test(text)
}

function otherWords(text: string, random: Random): string {
  const words = random.shuffle(text.split(/\s/))
  return text.replace(/[A-Za-z]+/g, () => words.pop() ?? '')
}

function isSorted(text: string): boolean {
  const lines = text.trimEnd().split('\n')
  return lines.length > 2 && lines.every((line, i) => i === 0 || (lines[i - 1] ?? '') <= line)
}

/** The lines in order; without repetitions if `like` has none. */
function sorted(text: string, like: string): string {
  const shown = like.trimEnd().split('\n')
  const lines = text.trimEnd().split('\n')
  const kept = new Set(shown).size === shown.length ? [...new Set(lines)] : lines
  return `${kept.sort().join('\n')}${text.endsWith('\n') ? '\n' : ''}`
}

/** Integers become others with as many digits; parts of names, dates or addresses stay. */
function otherNumbers(text: string, random: Random): string {
  return text.replace(/(?<![\w.:/-])\d+(?![\w.:/-])/g, (digits) => otherNumber(digits, random))
}

function otherNumber(digits: string, random: Random): string {
  const lowest = digits.length === 1 ? 0 : 1
  return [...digits].map((_, i) => String(i === 0 ? lowest + random.below(10 - lowest) : random.below(10))).join('')
}

/** Numbers become other small ones, options stay, and words are swapped or replaced. */
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
