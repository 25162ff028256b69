import type { Task } from '../../../core/task.ts'
import type { Finding } from '../finding.ts'
import type { TaskFiles } from '../task-files.ts'
import type { Check } from '../verdict.ts'
import type { LawSights } from './law-bench.ts'
import { type NamedPath, pathsInProse, pathsInScripts, proseLines } from './named-paths.ts'
import type { ShallowSolution } from './shallow-solutions.ts'

/** The result of the laws for a task. */
export interface LawsReport {
  readonly checks: readonly Check[]
  readonly findings: readonly Finding[]
  /** The text files the solution made, by path. */
  readonly made: ReadonlyMap<string, string>
}

/** The paths named by an instruction and by its tests. */
export interface LawPaths {
  readonly told: readonly NamedPath[]
  readonly tested: readonly NamedPath[]
}

export function lawPathsOf(task: Task, { rounds }: TaskFiles): LawPaths {
  const scripts = rounds.flatMap(({ tests }) => tests.filter(isScript))
  return { told: pathsInProse(task.instruction), tested: pathsInScripts(scripts) }
}

const isScript = ({ name }: { readonly name: string }) => /\.(?:sh|py)$/.test(name)

/** A shallow solution must not be paid; `paid` is the one that was, in a trial of its own. */
export function checkShallow(tried: number, paid: ShallowSolution | null): Check {
  if (paid) {
    const reasons = [`a shallow solution scores 1: ${paid.name}`]
    return { name: 'shallow', outcome: 'fail', reasons, evidence: paid.script.split('\n') }
  }
  return { name: 'shallow', outcome: tried > 0 ? 'ok' : 'skipped', reasons: [] }
}

/** The solution must run without errors and leave something wherever the instruction asks for something. */
export function checkReference(paths: LawPaths, sights: LawSights, task: Task, files: TaskFiles): Check {
  const { stderr, pipes, before, after, made } = sights
  const complaints = complaintsIn(stderr)
  const blank = mayBeEmpty.test(task.instruction)
    ? []
    : [...new Set([...paths.told, ...paths.tested].map(({ path }) => path))].filter(
        (path) => isAbsent(before.get(path)) && after.get(path) === 'blank',
      )
  // Next to other results, a count of 0 may be right.
  const zeros = [...made.values()].every((text) => /^[\s0]+$/.test(text)) ? [...made.keys()] : []
  const missing = paths.told.filter(
    (named) => isMissing(named, sights, files) && !mayBeMissing(named.path, task.instruction),
  )
  const unset = unsetVariables(task, files)
  const reasons = [
    ...complaints.slice(0, 1).map((line) => `stderr: the solution complains: ${line}`),
    ...pipes.slice(0, 1).map((line) => `pipe: ${line}`),
    ...blank.map((path) => `blank: the solution leaves ${path} empty`),
    ...zeros.map((path) => `blank: the solution finds nothing, ${path} holds only 0`),
    ...missing.map(
      ({ path }) => `missing-path: the instruction names ${path}, which does not exist and is not created`,
    ),
    ...unset.map(({ name }) => `variable: the instruction mentions $${name}, but nothing sets it`),
  ]
  const evidence = [
    ...complaints,
    ...pipes,
    ...[...missing, ...unset].map(({ where, line }) => `${where}: ${line}`),
  ].slice(0, 20)
  return { name: 'reference', outcome: reasons.length > 0 ? 'fail' : 'ok', reasons, evidence }
}

/** Output on stderr that is not a known error: worth a look. */
export function stderrWarning({ stderr }: LawSights): Finding[] {
  const [line] = stderr.split('\n').filter((text) => text.trim() !== '')
  if (line === undefined || complaintsIn(stderr).length > 0) return []
  const message = `writes to stderr: ${line.slice(0, 120)}`
  return [{ lint: 'solution-stderr', severity: 'warning', path: 'solution/solve.sh', message }]
}

const mayBeEmpty = /\b(?:empty|blank|touch)\b/i
const complaint =
  /^(?:[\w./+-]+: )+.*(?:no such file|cannot|can't|not found|permission denied|invalid|illegal|unrecognized|unknown|missing|is a directory|not a directory|syntax error|unexpected|unterminated|warning)|^Traceback \(|^[\w.]*Error: |^usage: /i

function complaintsIn(stderr: string): string[] {
  return stderr.split('\n').filter((line) => complaint.test(line))
}

const isAbsent = (kind: string | undefined) => kind === 'absent' || kind === 'nowhere'
const hedgesNext = /\b(?:not|never|without|don't|if|unless|such as|e\.g|example|like|would|outside)\b/i
const hedgesBack = /\b(?:not|never|don't|if|unless|would)\b/i
const absent =
  "(?:exists?|(?:does not|doesn't)(?: yet)? exist|(?:is|are)(?: not|n't)? (?:there|found|present|available|readable|missing|absent)|cannot be (?:found|read|opened))\\b"
/** The words around a path that may be missing: "if PATH is missing", "when there is no PATH", "PATH, if it exists". */
const missingIf = [
  [/\b(?:if|unless|when|whether|in case)\b[^,;:]*$/i, new RegExp(`^[\`'")]*(?: \\w+)? ${absent}`, 'i')],
  [/\b(?:if|unless|when|where|in case)\b[^,;:]*\bno (?:\w+ )?[`'"(]*$/i, /^/],
  [
    /$/,
    new RegExp(
      `^[^,;:.]*,? (?:if|unless|when|in case) (?:(?:it|they|this|that|the \\w+) ${absent}|not (?:there|present)|missing|absent)`,
      'i',
    ),
  ],
] as const

/**
 * Whether the sentence that names a path leaves open whether it exists. Words like "such as" refer to what follows
 * them.
 */
function isHedged({ path, line }: NamedPath): boolean {
  return sentencesOf(line)
    .filter((sentence) => sentence.includes(path))
    .every((sentence) => {
      const at = sentence.indexOf(path)
      return hedgesNext.test(sentence.slice(0, at)) || hedgesBack.test(sentence.slice(at + path.length))
    })
}

function sentencesOf(line: string): string[] {
  return line.split(/(?<!\b(?:e\.g|i\.e|etc))[.?!]\s+(?=[A-Z`(])/)
}

/** Whether any sentence in the instruction says what happens if this path does not exist. */
function mayBeMissing(path: string, instruction: string): boolean {
  const named = new RegExp(`(?<![\\w./-])${path.replace(/\W/g, '\\$&')}(?![\\w/-]|\\.\\w)`, 'g')
  return proseLines(instruction)
    .flatMap(({ text }) => sentencesOf(text))
    .some((sentence) =>
      [...sentence.matchAll(named)].some(({ index }) => {
        const [before, after] = [sentence.slice(0, index), sentence.slice(index + path.length)]
        return missingIf.some(([ahead, behind]) => ahead.test(before) && behind.test(after))
      }),
    )
}

/** Neither present, nor made, nor mentioned by the tests or the solution. */
function isMissing(named: NamedPath, { before, after, workdir }: LawSights, { rounds }: TaskFiles): boolean {
  const { path } = named
  if (!isAbsent(before.get(path)) || !isAbsent(after.get(path)) || isHedged(named)) return false
  const [, top = ''] = workdir.split('/')
  if (before.get(path) === 'nowhere' && (top === '' || !path.startsWith(`/${top}/`))) return false
  const name = path.slice(path.lastIndexOf('/') + 1)
  return !rounds.some(({ tests, solution }) => [...tests, ...solution].some(({ text }) => text.includes(name)))
}

const usualVariables =
  /^(?:HOME|PATH|PWD|OLDPWD|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|HOSTNAME|UID|EUID|RANDOM|IFS)$/

/**
 * Shell variables that the instruction mentions and the solution reads, but that neither it nor the environment sets.
 */
function unsetVariables(task: Task, { rounds, environment }: TaskFiles) {
  const solution = rounds.flatMap((round) => round.solution.filter(({ name }) => name.endsWith('.sh')))
  // Text in single quotes belongs to another program, such as awk.
  const script = solution.map(({ text }) => text.replace(/'[^']*'/g, "''")).join('\n')
  const around = environment.map(({ text }) => text).join('\n')
  const named = proseLines(task.instruction).flatMap(({ text, where }) =>
    [...text.matchAll(/(?<![\\\w$])\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => ({ name, where, line: text.trim() })),
  )
  const isUnset = (name: string) =>
    !usualVariables.test(name) &&
    !(name in task.environment.env) &&
    !(name in task.solution.env) &&
    new RegExp(`\\$\\{?${name}\\b`).test(script) &&
    !new RegExp(
      `\\b${name}=|\\b(?:for|read|select|declare|local|export|printf -v|mapfile|getopts)\\b[^\\n]*\\b${name}\\b`,
    ).test(script) &&
    !new RegExp(`\\b(?:ENV|export)\\b[^\\n]*\\b${name}\\b`).test(around)
  return [...new Map(named.map((it) => [it.name, it])).values()].filter(({ name }) => isUnset(name))
}
