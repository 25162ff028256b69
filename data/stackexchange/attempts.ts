import type { NewDraft } from 'ot-agent'
import { commandIn, isTaken, orderOf } from './commands.ts'
import { answersOf, type PostAnswer, type Question } from './question.ts'
import { type CodeAt, runCode } from './run-code.ts'

/** Code from an answer, with texts from the question as the files it reads. */
export interface Attempt {
  readonly script: string
  readonly interpreter: 'bash' | 'python3'
  readonly files: Readonly<Record<string, string>>
}

export interface Ran {
  readonly attempt: Attempt
  readonly printed: string
}

const mostAttempts = 12
const mostFiles = 3
const attemptSec = 10

/** What the answers offer to run on what the question shows, best answer first; a string says why there is nothing. */
export function attemptsOf(question: Question): readonly Attempt[] | string {
  const programs = answersOf(question).flatMap(programsIn)
  if (programs.length === 0) return 'the answer holds no command of the usual programs'
  const texts = question.code.filter(({ text }) => text.trim() !== '' && commandIn(text) === null)
  if (texts.length === 0) return 'the question shows no input'
  const readers = programs.map((program) => ({ ...program, names: filesOf(program) }))
  if (readers.every(({ names }) => names.length === 0)) return 'the command names no file to work on'
  return readers
    .flatMap(({ names, ...program }) => inputsOf(names, texts).map((files) => ({ ...program, files })))
    .slice(0, mostAttempts)
}

type Program = Pick<Attempt, 'script' | 'interpreter'>

function programsIn({ code, body }: PostAnswer): Program[] {
  const inline = [...body.matchAll(/(?<!`)`([^`\n]{8,200})`(?!`)/g)].map(([, text = '']) => text)
  const bash = [...code.map(({ text }) => text), ...inline]
    .map(commandIn)
    .filter((text) => text !== null)
    // What would go into a file is what is asked for.
    .map((text) => ({ script: text.replace(/\s*>\s*[\w.-]+$/, ''), interpreter: 'bash' as const }))
  const python = code
    .filter(({ text }) => /\bopen\(\s*["']/.test(text) && /^\s*print\s*\(/m.test(text) && !/^>>> /m.test(text))
    .map(({ text }) => ({ script: text, interpreter: 'python3' as const }))
  return [...bash, ...python]
}

/** Files that a program reads by name, in order. */
function filesOf({ script, interpreter }: Program): string[] {
  const words =
    interpreter === 'python3'
      ? [...script.matchAll(/\bopen\(\s*["']([^"']+)["']\s*(?:,\s*["']r["'])?\s*\)/g)].map(([, name = '']) => name)
      : script.replace(/'[^']*'|"[^"]*"/g, ' ').split(/[\s|;<>()&]+/)
  const names = words.filter(
    (word) => /^[A-Za-z][\w-]*(?:\.[A-Za-z]\w{0,4})?$/.test(word) && isFileName.test(word) && !isTaken.test(word),
  )
  return [...new Set(names)].slice(-mostFiles)
}

const isFileName = /\.\w+$|^(?:your|my|in|input|text|data|log|the)?_?(?:file|input|data)(?:name)?_?\d?$/i
/**
 * Texts for these files: those that the question introduces by file name, otherwise in order; for a single file, each
 * candidate.
 */
function inputsOf(names: readonly string[], texts: Question['code']): Readonly<Record<string, string>>[] {
  if (names.length === 0 || names.length > texts.length) return []
  const told = names.map((name) => texts.find(({ before }) => mentions(before, name)))
  const isTold = told.every((text) => text !== undefined) && new Set(told).size === names.length
  const single = [...new Set([...told.filter((text) => text !== undefined), ...texts])]
    .slice(0, 3)
    .map((text) => [text])
  const given = names.length === 1 ? single : [isTold ? told : texts]
  return given.map((each) => Object.fromEntries(names.map((name, i) => [name, `${each[i]?.text ?? ''}\n`])))
}

/** Whether a text mentions a file, with or without its ending: `file 1` is file1.txt. */
function mentions(text: string, name: string): boolean {
  const parts = name.replace(/\.\w+$/, '').match(/[A-Za-z]+|\d+/g) ?? []
  return new RegExp(`(?<![A-Za-z0-9])${parts.join('[\\W_]*')}(?![A-Za-z0-9])`, 'i').test(text)
}

/** Runs all of them in one sandbox, each in its own folder; drops those that fail or complain. */
export async function runAttempts(attempts: readonly Attempt[], at: CodeAt): Promise<Ran[]> {
  const files = Object.fromEntries(
    attempts.flatMap(({ script, files }, nth) => [
      [`${nth}.reference`, `${script}\n`],
      ...Object.entries(files).map(([name, text]) => [`${nth}/${name}`, text]),
    ]),
  )
  const runs = attempts.map(
    ({ interpreter }, nth) => `cd /app/${nth}
printed=$(LC_ALL=C.UTF-8 timeout ${attemptSec} ${interpreter} /app/${nth}.reference 2> /tmp/complaint < /dev/null && echo .)
[ "\${printed: -1}" = . ] && [ ! -s /tmp/complaint ] && echo "${nth} $(printf '%s' "\${printed%?}" | head -c 100000 | base64 -w 0)"`,
  )
  const image = attempts.some(({ interpreter }) => interpreter === 'python3') ? 'python:3.12-slim' : 'debian:12-slim'
  const command = ['bash', '-c', `${runs.join('\n')}\ntrue`]
  const ran = await runCode({ image, files, command, timeoutSec: attemptSec * attempts.length + 10 }, at)
  return (ran?.stdout ?? '').split('\n').flatMap((line) => {
    const [, nth = '', encoded = ''] = /^(\d+) (\S*)$/.exec(line) ?? []
    const attempt = attempts[Number(nth)]
    return nth === '' || !attempt ? [] : [{ attempt, printed: Buffer.from(encoded, 'base64').toString('utf8') }]
  })
}

/**
 * How a shown text compares with the printed one: `same` apart from trailing blanks, or `blanks` if only the spacing
 * between words differs.
 */
export function likeness(shown: string, printed: string): 'same' | 'blanks' | null {
  const lines = (text: string) => text.trimEnd().split('\n')
  const same = (text: string) =>
    lines(text)
      .map((line) => line.trimEnd())
      .join('\n')
  const words = (text: string) =>
    lines(text)
      .map((line) => line.trim().replace(/\s+/g, ' '))
      .join('\n')
  if (same(shown) === same(printed)) return 'same'
  return words(shown) === words(printed) ? 'blanks' : null
}

/** The files of each of a task's inputs, by name. */
export function casesOf({ files }: NewDraft): Readonly<Record<string, string>>[] {
  const cases: Record<string, Record<string, string>> = {}
  for (const [path, { data }] of Object.entries(files)) {
    const [, nth, name] = /^tests\/cases\/(\d+)\/files\/(.+)$/.exec(path) ?? []
    if (nth !== undefined && name !== undefined) cases[nth] = { ...cases[nth], [name]: String(data) }
  }
  return Object.values(cases)
}

/**
 * Whether programs that read the same texts also print the same for other inputs; `cases` names files as the first
 * program does.
 */
export async function agreeOn(
  cases: readonly Readonly<Record<string, string>>[],
  attempts: readonly Attempt[],
  at: CodeAt,
): Promise<boolean> {
  const [first] = attempts
  if (!first || attempts.length === 1) return true
  const tried = cases.flatMap((files) =>
    attempts.map((attempt) => ({ ...attempt, files: renamed(files, first.files, attempt.files) })),
  )
  const ran = await runAttempts(tried, at)
  const isAnyOrder = orderOf(first).order === 'any'
  const printed = (nth: number) => {
    const text = ran.find(({ attempt }) => attempt === tried[nth])?.printed
    return isAnyOrder ? text?.split('\n').sort().join('\n') : text
  }
  return cases.every((_, nth) => {
    const wanted = printed(nth * attempts.length)
    return attempts.every((__, i) => {
      const other = printed(nth * attempts.length + i)
      return wanted === undefined || (other !== undefined && likeness(wanted, other) !== null)
    })
  })
}

/** Whether two programs read the same texts, regardless of file names. */
export function readsSame(one: Attempt, other: Attempt): boolean {
  const texts = ({ files }: Attempt) => JSON.stringify(Object.values(files).sort())
  return one.script !== other.script && texts(one) === texts(other)
}

/** The same texts under the file names of another program. */
function renamed(
  files: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string>>,
  theirs: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const nameOf = (text: string) => Object.keys(ours).find((name) => ours[name] === text) ?? ''
  return Object.fromEntries(Object.entries(theirs).map(([name, text]) => [name, files[nameOf(text)] ?? '']))
}
