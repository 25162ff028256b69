import type { Random } from 'ot-agent'
import type { AnswerKind } from './answers.ts'
import { linesWith, readSearch, type Search } from './contents.ts'
import { vocabulary } from './globs.ts'
import type { Word } from './shell.ts'
import type { Work } from './work.ts'
import { makeWorkspace } from './workspace.ts'

/** A program that reads text: the options that are understood, and the words that ask for it and nothing else. */
interface Reader {
  readonly options: RegExp
  readonly words: RegExp
  readonly kind: AnswerKind
}

const readers: Readonly<Record<string, Reader>> = {
  head: { options: /^(?:-n|-?n?\d+)$/, words: /\bfirst\b|\btop\b/i, kind: 'lines' },
  tail: { options: /^(?:-n|-?n?\d+)$/, words: /\blast\b|\bbottom\b/i, kind: 'lines' },
  tac: { options: /^$/, words: /\brevers\w*\b|\binvert\w*\b|\bbackward\w*\b/i, kind: 'lines' },
  sort: {
    options: /^-(?:[nru]+|k\d|k)$|^\d$/,
    words: /\bsort\w*\b|\balphabetical\w*\b|\bin (?:ascending|descending)\b/i,
    kind: 'lines',
  },
  uniq: {
    options: /^$/,
    words: /\bunique?\b|\bduplicate\w*\b|\bdifferent\b|\bdistinct\b|\bonce each\b/i,
    kind: 'lines',
  },
  cut: { options: /^(?:-d.?|-f\d?|.|\d)$/, words: /\b(?:field|column|section)s?\b/i, kind: 'lines' },
  wc: { options: /^-[lw]$/, words: /\bcount\w*\b|\bhow many\b|\bnumber of\b/i, kind: 'number' },
  grep: {
    options: /^-[cinv]+$/,
    words:
      /\bcontain\w*\b|\bmention\w*\b|\bsearch\w*\b|\bmatch\w*\b|\bfind\w*\b|\bhav(?:e|ing)\b|\bwith\b|\blook\w*\b|\bstart\w*\b|\bbegin\w*\b/i,
    kind: 'found-lines',
  },
}

/** What none of these programs does, and what depends on the user. */
const beyond =
  /\b(?:page|pager?|interactiv\w*|standard|stdin|input from|append\w*|sav(?:e|es|ed|ing)|writ\w*|updat\w*|in.?place|replac\w*|delet\w*|remov\w*|variable|compress\w*|archive\w*|each file|files|recursive\w*|director\w*|folder|bytes?|characters?|chars?|follow\w*|monitor\w*|wait\w*|regular expression|regex|ignoring|except|not|without|never|omit\w*|numbered|case|numeric\w*|numbers?|version|random\w*|month|human|merge\w*|check\w*|whether|all but|starting|from line|between|middle|every|longest|shortest|average|sum|percent\w*|bold|color\w*|word)\b/i

/** A request about the lines of one text file it names; null if the command does something else. */
export function readTextWork(words: string, pipe: readonly (readonly Word[])[], random: Random): Work | null {
  const stages = readStages(pipe)
  if (stages === null || !said(words, stages.file)) return null
  const { file, programs, search } = stages
  const bare = words
    .replaceAll(file, ' ')
    .replaceAll(search?.text ?? file, ' ')
    .replace(/"[^"]*"|'[^']*'/g, ' ')
  if (!agrees(bare, words, stages)) return null
  const last = programs.at(-1)
  const isCount = last?.name === 'wc' || (last?.name === 'grep' && last.options.some((option) => /c/.test(option)))
  const kind = isCount ? 'number' : programs.every(({ name }) => name === 'grep') ? 'found-lines' : 'lines'
  const workspace = makeWorkspace(random)
  const separator = programs.flatMap(({ separator }) => separator ?? [])[0] ?? ' '
  const isNumeric = programs.some(({ name, options }) => name === 'sort' && options.some((option) => /n/.test(option)))
  workspace.addAt('', {
    kind: 'file',
    name: file,
    size: null,
    text: someText({ separator, search, lines: 14 + random.below(10) + mostLines(programs), isNumeric }, random),
  })
  for (let nth = 0; nth < 3; nth++)
    workspace.add('', 1 + random.below(2), { kind: 'file', name: `${random.pick(vocabulary)}.txt`, size: null })
  return { answer: { kind, roots: [] }, workspace: workspace.finish() }
}

interface Program {
  readonly name: string
  readonly options: readonly string[]
  readonly numbers: readonly number[]
  readonly separator?: string | undefined
}

interface Stages {
  readonly file: string
  readonly programs: readonly Program[]
  readonly search: Search | null
}

/** The programs of a pipe that starts with one file. */
function readStages(pipe: readonly (readonly Word[])[]): Stages | null {
  let file: string | null = null
  let search: Search | null = null
  const programs: Program[] = []
  for (const [nth, stage] of pipe.entries()) {
    const [name = '', ...args] = stage.map(({ text }) => text)
    let rest = args
    if (nth === 0) {
      file = args.at(-1) ?? null
      rest = args.slice(0, -1)
      if (name === 'cat' && rest.length === 0 && pipe.length > 1) continue
    }
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
    if (!reader) return null
    if (name === 'grep') {
      const pattern = rest.filter((word) => !word.startsWith('-'))
      search =
        pattern.length === 1 && programs.length === 0
          ? readSearch(['grep', ...rest.filter((word) => !/^-[cv]$/.test(word))])
          : null
      if (search === null) return null
      rest = rest.filter((word) => word.startsWith('-'))
    }
    if (rest.some((word) => !reader.options.test(word))) return null
    const separator = name === 'cut' ? separatorOf(rest) : undefined
    if (name === 'cut' && separator === null) return null
    programs.push({
      name,
      options: rest,
      numbers: rest.flatMap((word) => [...word.matchAll(/\d+/g)].map(([n]) => Number(n))),
      separator: separator ?? undefined,
    })
  }
  if (file === null || !/^[\w.-]+(?:\/[\w.-]+)*$/.test(file) || /^(?:-|\d+$)/.test(file) || programs.length === 0)
    return null
  return { file, programs, search }
}

function separatorOf(args: readonly string[]): string | null {
  const at = args.findIndex((word) => word.startsWith('-d'))
  const separator = args[at] === '-d' ? args[at + 1] : args[at]?.slice(2)
  return separator !== undefined && /^[ ,:;|]$/.test(separator) ? separator : null
}

const said = (words: string, name: string) =>
  new RegExp(`(?<![\\w./-])(?:\\./)?${name.replace(/\W/g, '\\$&')}(?![\\w/-]|\\.\\w)`).test(words)

const numberWords = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const ordinals = ['', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth']

/** Every program is asked for, nothing else is, and both sides have the same numbers. */
function agrees(bare: string, words: string, { programs, search, file }: Stages): boolean {
  const options = programs.flatMap((program) => program.options).join('')
  const isInverse = programs.some(({ name, options }) => name === 'grep' && options.some((option) => /v/.test(option)))
  let open = bare
  if (isInverse) open = open.replace(/\b(?:not|without|except)\b/gi, ' ')
  else if (/\bnot\b|n't\b|\bwithout\b/i.test(open)) return false
  if (search?.ignoresCase)
    open = open.replace(/\b(?:whatever its case|ignoring case|case[- ]?insensitiv\w*|case)\b/gi, ' ')
  if (/n/.test(options)) open = open.replace(/\bline numbers?\b|\bnumeric\w*\b|\bnumbers?\b/gi, ' ')
  if (programs.some(({ name }) => name === 'wc' || name === 'grep'))
    open = open.replace(/\bnumber of\b|\bwords?\b/gi, ' ')
  if (beyond.test(open) || (search !== null && !words.includes(search.text))) return false
  const quotes = [...words.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, a, b]) => a ?? b)
  if (quotes.some((quote) => quote !== file && quote !== search?.text && !/^[,:; |]$/.test(quote ?? ''))) return false
  for (const [name, reader] of Object.entries(readers)) {
    const isUsed =
      programs.some((program) => program.name === name) ||
      (name === 'uniq' && /^-.*u/.test(options)) ||
      (name === 'wc' && /c/.test(options)) ||
      (name === 'tac' && /r/.test(options))
    if (
      name !== 'grep' &&
      reader.words.test(open) !== isUsed &&
      !(name === 'head' && programs.some((program) => program.name === 'cut'))
    )
      return false
  }
  if (search === null && /\b(?:contain|match|search|mention)\w*\b/i.test(open)) return false
  const spoken = new Set([...bare.matchAll(/\b\d+\b/g)].map(([n]) => Number(n)))
  for (const [n, word] of numberWords.entries())
    if (new RegExp(`\\b(?:${word}|${ordinals[n] || word})\\b`, 'i').test(bare)) spoken.add(n)
  const used = programs.flatMap(({ numbers }) => numbers)
  return used.every((n) => spoken.has(n)) && [...spoken].every((n) => used.includes(n) || n === 1)
}

const mostLines = (programs: readonly Program[]) =>
  Math.min(
    3000,
    Math.max(0, ...programs.filter(({ name }) => /head|tail/.test(name)).flatMap(({ numbers }) => numbers)) * 2,
  )

/** Lines of words and numbers, some repeated but never next to each other. */
function someText(
  {
    separator,
    search,
    lines,
    isNumeric,
  }: {
    readonly separator: string
    readonly search: Search | null
    readonly lines: number
    readonly isNumeric: boolean
  },
  random: Random,
): string {
  const line = () => {
    const [word, number] = [random.pick(vocabulary), String(random.below(1000))]
    return (
      isNumeric
        ? [number, word, random.pick(vocabulary)]
        : [word, random.pick(vocabulary), number, random.pick(vocabulary)]
    ).join(separator)
  }
  const all = Array.from({ length: lines }, line)
  for (let nth = 0; nth < 3; nth++) all.push(all[nth * 2] ?? line())
  return `${all.join('\n')}\n${search ? linesWith(search, 3 + random.below(3), random) : ''}`
}
