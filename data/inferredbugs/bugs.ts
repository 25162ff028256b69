import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { type Dropped, type RawRow, UserError } from 'ot-agent'

/** Where the dataset is. */
export const repository = 'https://github.com/microsoft/InferredBugs'

/**
 * The dataset's names for kinds of bug, and the kind the agent is asked for: some kinds have a different name in each
 * language.
 */
const kindNames: Readonly<Record<string, string>> = {
  NULL_DEREFERENCE: 'NULL_DEREFERENCE',
  NULLPTR_DEREFERENCE: 'NULL_DEREFERENCE',
  RESOURCE_LEAK: 'RESOURCE_LEAK',
  DOTNET_RESOURCE_LEAK: 'RESOURCE_LEAK',
  PULSE_RESOURCE_LEAK: 'RESOURCE_LEAK',
  THREAD_SAFETY_VIOLATION: 'THREAD_SAFETY_VIOLATION',
  PULSE_UNINITIALIZED_VALUE: 'UNINITIALIZED_VALUE',
  UNINITIALIZED_VALUE: 'UNINITIALIZED_VALUE',
  CHECKERS_PRINTF_ARGS: 'WRONG_FORMAT_ARGUMENTS',
}
export const kinds = [...new Set(Object.values(kindNames))]

/** The kind the agent is asked for; null for unknown names. */
export function kindOf(name: string): string | null {
  return kindNames[name] ?? null
}

const beside = ['file_before', 'file_after', 'method_before', 'method_after'] as const

/** Every `bug.json` in a clone, with the files next to it. */
export async function* readRecords(inputDir: string | null): AsyncGenerator<RawRow | Dropped, void, void> {
  if (inputDir === null)
    throw new UserError(
      'inferredbugs: expected a clone of the dataset’s repository, got none',
      `git clone ${repository}, then name it with --input-dir`,
    )
  const found = await readdir(inputDir, { recursive: true })
  for (const path of found.filter((name) => basename(name) === 'bug.json').sort()) {
    const dir = dirname(join(inputDir, path))
    const id = relative(inputDir, dir).replaceAll('/', '-')
    try {
      const bug = JSON.parse(await readFile(join(inputDir, path), 'utf8'))
      const texts = await Promise.all(beside.map((name) => readFile(join(dir, `${name}.txt`), 'utf8')))
      const fields = { ...bug, ...Object.fromEntries(beside.map((name, i) => [name, texts[i]])) }
      yield { id, source: 'inferredbugs', fields }
    } catch (error) {
      yield { drop: 'unreadable-row', detail: String(error).slice(0, 200), id }
    }
  }
}

/** A range of lines, first and last included. */
export interface Span {
  readonly first: number
  readonly last: number
}

/** Where a method is in its file; null if it is missing or occurs twice. */
export function spanOf(method: string, file: string): Span | null {
  const wanted = linesOf(method)
  while (wanted.at(-1) === '') wanted.pop()
  const lines = linesOf(file)
  const starts = lines.flatMap((_, at) => (wanted.every((line, i) => lines[at + i] === line) ? [at] : []))
  const [at] = starts
  return at === undefined || starts.length > 1 || wanted.length === 0
    ? null
    : { first: at + 1, last: at + wanted.length }
}

/** Line numbers in the old text from the first to the last difference; an insertion counts as the line above it. */
export function changedLines(before: string, after: string): number[] {
  const [old, fresh] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < Math.min(old.length, fresh.length) && old[head] === fresh[head]) head++
  if (head === old.length && head === fresh.length) return []
  let tail = 0
  while (tail < Math.min(old.length, fresh.length) - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  const end = Math.max(head + 1, old.length - tail)
  return Array.from({ length: end - head }, (_, i) => head + i + 1)
}

/** What a fix of each kind adds. Commits often change other things, and the analyzer just stops complaining. */
const marks: Readonly<Record<string, RegExp>> = {
  NULL_DEREFERENCE:
    /[!=]= ?null\b|\bnull [!=]=|\bis (?:not )?null\b|\?\.\w|\?\?|\b(?:requireNonNull|isPresent|ofNullable|orElse\w*|IsNullOr\w+|nonNull|isNull|assertNotNull|assumeNotNull|checkNotNull|notNull)\b/g,
  RESOURCE_LEAK:
    /\btry ?\(|\busing\b|\.(?:close|Close|Dispose|DisposeAsync|disconnect|shutdown)\(|\b(?:closeQuietly|closeSilently|safeClose|finally|tryClose)\b/g,
  THREAD_SAFETY_VIOLATION:
    /\b(?:synchronized|volatile|lock|Atomic\w+|Concurrent\w+|CopyOnWrite\w+|\w*Lock|GuardedBy|ThreadLocal|Interlocked)\b/g,
  UNINITIALIZED_VALUE: /\b(?:this\.)?\w+ = (?:new\b|default\b|null\b|\d|"|string\.Empty)|\boverride\b/g,
  WRONG_FORMAT_ARGUMENTS: /\b(?:[Ff]ormat|printf)\s*\(|%[-\d.]*[a-zA-Z]/g,
}

/**
 * Whether a change adds, in the same method, what fixes this kind of bug. A null check has to be on what the report
 * names, or on a variable it is assigned to.
 */
export function looksLikeFix(kind: string, before: string, after: string, name: string | null = null): boolean {
  const method = /([\w~]+)\s*\(/.exec(before)?.[1]
  if (method !== undefined && !after.includes(method)) return false
  const mark = marks[kind]
  if (mark === undefined) return false
  // If the call is gone, the analyzer has nothing left to check: the code may have been correct before.
  if (kind === 'WRONG_FORMAT_ARGUMENTS')
    return count(formatCall, after) >= count(formatCall, before) && count(mark, after) > 0
  if (count(mark, after) <= count(mark, before)) return false
  if (kind !== 'NULL_DEREFERENCE' || name === null) return true
  const old = new Set(linesOf(before).map((line) => line.trim()))
  const fresh = linesOf(after).filter((line) => !old.has(line.trim()))
  const assigned = linesOf(after).flatMap((line) =>
    hasWord(line, name) ? (/(\w+)\s*=(?!=)/.exec(line)?.slice(1) ?? []) : [],
  )
  return fresh.some((line) => count(mark, line) > 0 && [name, ...assigned].some((word) => hasWord(line, word)))
}

const formatCall = /\b(?:[Ff]ormat|printf)\s*\(/g
const count = (pattern: RegExp, text: string) => [...text.matchAll(pattern)].length

/** What a report is about: a variable, a field or a called method; null if it names none. */
export function reportedName(qualifier: string): string | null {
  const found =
    /(?:(?:object|pointer)(?: returned by)?|acquired to|(?:reads|writes) [^`]*) `([^`]+)`|^`([^`]+)` (?:could be null|is read)/.exec(
      qualifier,
    ) ?? /Leaked resource (\w+) of type/.exec(qualifier)
  const [, first, second] = found ?? []
  const expression = (first ?? second ?? '').replace(/\(.*$/, '')
  const [name] = /\w+$/.exec(expression) ?? []
  return name === undefined || /^(?:null|\d+)$/.test(name) ? null : name
}

/**
 * The lines of the method that count as correct answers: those that the report or its fix is on, those the report gives
 * as the origin of the value or resource, and others in the method with the same cause.
 */
export function acceptedLines(
  report: { line: number; qualifier: string },
  changed: readonly number[],
  method: Span,
  text: string,
) {
  const said = [...report.qualifier.matchAll(/\bline (\d+)/gi)].map(([, number]) => Number(number))
  const [, call = ''] = /acquired (?:to `\w+` )?by call to `(\w+)\(/.exec(report.qualifier) ?? []
  const [, type = ''] = /resource of type `(?:[\w.]+\.)?(\w+)`/.exec(report.qualifier) ?? []
  const cause = call === 'new' ? new RegExp(`\\bnew ${type}\\b`) : call === '' ? null : new RegExp(`\\b${call}\\s*\\(`)
  const field = /\b(?:reads|writes)\b/.test(report.qualifier) ? reportedName(report.qualifier) : null
  const alike = linesOf(text).flatMap((line, at) =>
    cause?.test(line) || (field !== null && hasWord(line, field)) ? [at + method.first] : [],
  )
  const all = new Set([report.line, ...changed, ...said, ...alike])
  return [...all].filter((line) => line >= method.first && line <= method.last).sort((a, b) => a - b)
}

/** Opens something and never closes it: in a method with another bug it would be unclear which of the two is meant. */
export function mayLeak(method: string): boolean {
  const opens = /\bnew \w*(?:Reader|Writer|(?:Input|Output|File)Stream|Scanner|Socket|Formatter)\(/
  return opens.test(method) && !/\.(?:close|Close|Dispose)\(|\btry ?\(|\busing\b|\bclose\w*\(/.test(method)
}

export function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?<!\\w)${word}(?!\\w)`).test(text)
}

/** Without trailing whitespace, which editors change. */
function linesOf(text: string): string[] {
  return text.split('\n').map((line) => line.trimEnd())
}

/** The kind has to be correct, and the line has to be one that the bug or its fix is on. */
export function testScript(kind: string): string {
  return `#!/bin/sh
reward=0
if [ -f /app/answer.txt ] && [ ! -L /app/answer.txt ]; then
  if head -c 1000 /app/answer.txt | tr -s '\\r\\n\\t' ' ' | awk -v kind=${kind} '
    FNR == NR { lines[$1] = 1; next }
    { right = NF == 2 && $1 == kind && ($2 in lines) }
    END { exit !right }
  ' /tests/lines.txt -; then
    reward=1
  fi
fi
echo "$reward" > /logs/verifier/reward.txt
`
}
