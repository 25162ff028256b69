import { BoundaryError } from '../../../core/errors.ts'
import type { Dockerfile, RunInstruction } from '../instruction.ts'
import { type LogicalLine, parseHeredocMark, readLines } from '../lines.ts'
import { parseDockerfile } from '../parse.ts'
import { basesOf, planDockerfile } from '../plan.ts'
import { type Manager, readInstall } from './install.ts'
import { readPackage } from './package.ts'
import { readCommands, type ShellWord } from './shell.ts'

/** How to ask a sandbox what a package manager has installed. */
export interface Question extends RunPlace {
  readonly manager: Manager
  readonly argv: readonly string[]
}

/** Something a Dockerfile requests without an exact version. */
export interface Pinnable {
  /** `image` for a FROM. */
  readonly manager: Manager | 'image'
  readonly name: string
  /** As written, without quotes. */
  readonly written: string
  /** Its beginning and end, which stay. */
  readonly kept: readonly [before: string, after: string]
  readonly line: number
  /** The part of the file that an exact version replaces, and the prefix for the version. */
  readonly edit: { readonly start: number; readonly end: number; readonly mark: string }
  /** Null for an image. */
  readonly question: Question | null
}

/** Something left unpinned, and why. */
export interface LeftAlone {
  readonly manager: Manager | 'image'
  readonly written: string
  readonly line: number
  readonly why: string
}

export interface Found {
  readonly pinnable: readonly Pinnable[]
  readonly left: readonly LeftAlone[]
}

/** Finds what a Dockerfile requests without an exact version: images, and packages of apt, pip and npm. */
export function findPinnable(text: string, file: string): Found {
  const dockerfile = parseDockerfile(text, file)
  const lines = new Map(readLines(text, file).lines.map((line) => [line.line, line]))
  const found: Draft = { lineAt: makeLineFinder(text), pinnable: [], left: [] }
  for (const { line, written, image } of basesOf(dockerfile)) findImage(lines.get(line), written, image, found)
  const visible = visibleStages(dockerfile)
  const places = readRunPlaces(dockerfile)
  for (const [index, { instructions }] of dockerfile.stages.entries()) {
    for (const instruction of instructions) {
      const line = lines.get(instruction.line)
      if (instruction.kind !== 'run' || !line) continue
      const place = places.get(instruction.line) ?? { user: null, dropPath: '' }
      const hidden = visible.has(index) ? null : 'installed in a stage that the sandbox does not expose'
      findPackages(readScript(instruction, line), place, hidden, found)
    }
  }
  const inOrder = <T extends { line: number }>(all: T[]) => all.sort((a, b) => a.line - b.line)
  return { pinnable: inOrder(found.pinnable), left: inOrder(found.left) }
}

interface Draft {
  /** The line number of a file offset. */
  readonly lineAt: (offset: number) => number
  readonly pinnable: Pinnable[]
  readonly left: LeftAlone[]
}

function findImage(line: LogicalLine | undefined, written: string, image: string, found: Draft): void {
  if (!line || image.includes('@')) return
  const common = { manager: 'image', written, line: line.line } as const
  const last = line.offsets[written.length - 1]
  if (written !== image || last === undefined) found.left.push({ ...common, why: 'a variable' })
  else {
    const edit = { start: last + 1, end: last + 1, mark: '@' }
    found.pinnable.push({ ...common, name: image, kept: [image, ''], edit, question: null })
  }
}

/** The last stage, and those it starts from: a sandbox shows their files. */
function visibleStages({ stages }: Dockerfile): ReadonlySet<number> {
  const visible = new Set<number>()
  for (let index = stages.length - 1; index >= 0; ) {
    visible.add(index)
    const base = stages[index]?.image.toLowerCase()
    index = stages.slice(0, index).findLastIndex(({ name }) => name === base)
  }
  return visible
}

const marks: Record<Manager, string> = { apt: '=', pip: '==', npm: '@' }

/** `hidden`: why nothing of this script can be looked up, or null. */
function findPackages(script: Script, place: RunPlace, hidden: string | null, found: Draft): void {
  for (const command of script) {
    const install = readInstall(command)
    if (install === null) continue
    const { manager, ask, others, hopeless } = install
    const lineOf = ({ at }: ShellWord) => found.lineAt(at[0] ?? 0)
    const leave = (word: ShellWord, why: string) =>
      found.left.push({ manager, written: word.value, line: lineOf(word), why })
    for (const { word, why } of others) leave(word, why)
    for (const word of install.packages) {
      const read = readPackage(manager, word)
      if (read.kind === 'pinned') continue
      const edit = read.kind === 'loose' ? placeOf(word, read) : null
      const why = read.kind === 'other' ? read.why : (hidden ?? hopeless)
      if (why !== null || edit === null || read.kind === 'other') leave(word, why ?? 'quoted in pieces')
      else
        found.pinnable.push({
          manager,
          name: read.name,
          written: word.value,
          kept: [word.value.slice(0, read.start), word.value.slice(read.end)],
          line: lineOf(word),
          edit: { ...edit, mark: marks[manager] },
          question: { manager, argv: ask, ...place },
        })
    }
  }
}

/** The offset of a part of a word in the file; null if it is not contiguous there. */
function placeOf({ at }: ShellWord, part: { readonly start: number; readonly end: number }) {
  const before = at[part.start - 1]
  if (before === undefined) return null
  if (part.start === part.end) return { start: before + 1, end: before + 1 }
  const [first, last] = [at[part.start], at[part.end - 1]]
  if (first === undefined || last === undefined || last - first !== part.end - part.start - 1) return null
  return { start: first, end: last + 1 }
}

function makeLineFinder(text: string): (offset: number) => number {
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => {
    let [from, to] = [0, ends.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((ends[middle] ?? 0) < offset) from = middle + 1
      else to = middle
    }
    return from + 1
  }
}

/** The context of a RUN in a Dockerfile, as far as it decides what a program sees. */
interface RunPlace {
  /** The user that runs it; null for the user of a sandbox's commands. */
  readonly user: string | null
  /** What later lines prepend to the PATH it had. */
  readonly dropPath: string
}

/** The context of every RUN by its line; empty if the file is too complex to follow here. */
function readRunPlaces(dockerfile: Dockerfile): ReadonlyMap<number, RunPlace> {
  try {
    const { stages } = planDockerfile(dockerfile, `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`)
    const end = stages.at(-1)?.config
    const last = end?.env.PATH ?? ''
    // Without a USER it is the base image's user; before a USER that is nearly always root.
    const unsaid = end?.user === undefined ? null : 'root'
    const runs = stages.flatMap(({ steps }) => steps).filter((step) => step.kind === 'run')
    return new Map(
      runs.map(({ line, user, env }) => {
        const path = env.PATH ?? ''
        const dropPath = last.endsWith(`:${path}`) ? last.slice(0, last.length - path.length) : ''
        return [line, { user: user?.split(':')[0] ?? unsaid, dropPath }]
      }),
    )
  } catch (error) {
    if (error instanceof BoundaryError) return new Map()
    throw error
  }
}

/** What a RUN executes, with each word's offsets in the file. */
type Script = readonly (readonly ShellWord[])[]

/** Reads a shell line, a heredoc for a shell, or a program with its arguments. */
function readScript({ command, heredocs }: RunInstruction, line: LogicalLine): Script {
  const inFile = (at: number) => line.offsets[at] ?? 0
  if (command.form === 'exec') return placed([readStrings(line.rest)], inFile)
  const [heredoc] = heredocs
  const isScript = heredoc !== undefined && heredocs.length === 1 && parseHeredocMark(command.text) !== null
  if (!isScript) return placed(readCommands(line.rest), inFile)
  const { raw, start } = heredoc
  const ofShell = !raw.trimStart().startsWith('#!') || /^\s*#!.*\b(ba|da|z)?sh\b/.test(raw)
  return ofShell ? placed(readCommands(raw), (at) => start + at) : []
}

function placed(commands: Script, inFile: (at: number) => number): Script {
  return commands.map((words) => words.map((word) => ({ ...word, at: word.at.map(inFile) })))
}

/** The strings of a JSON array; one containing an escape counts as unknown. */
function readStrings(text: string): ShellWord[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(({ 1: value = '', index }) => {
    const at = Array.from({ length: value.length }, (_, i) => index + 1 + i)
    return { value, at, dynamic: value.includes('\\') }
  })
}
