/** A contiguous change: the lines a patch removes from a file and those it adds, including line endings. */
interface Hunk {
  /** The number of lines before it in the old file. */
  readonly at: number
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** What a patch does to one file. A null side means that the file does not exist there. */
export interface FilePatch {
  readonly oldPath: string | null
  readonly newPath: string | null
  readonly hunks: readonly Hunk[]
}

/** A patch that cannot be parsed, or does not apply to the file. */
export class PatchError extends Error {}

/** Parses a unified diff from git or diff. Binary changes and renames without content are refused. */
export function parsePatch(text: string): FilePatch[] {
  const lines = text.split('\n')
  const files: FilePatch[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ''
    if (/^(?:GIT binary patch|Binary files )/.test(line))
      throw new PatchError('expected a patch of text, got a binary one')
    if (!line.startsWith('--- ') || !lines[i + 1]?.startsWith('+++ ')) continue
    const [oldPath, newPath] = [pathOf(line), pathOf(lines[i + 1] ?? '')]
    const hunks: Hunk[] = []
    i += 2
    while (lines[i]?.startsWith('@@ ')) {
      const { hunk, next } = parseHunk(lines, i)
      hunks.push(hunk)
      i = next
    }
    i--
    if (hunks.length === 0) throw new PatchError(`expected lines that change in ${newPath ?? oldPath}, got none`)
    files.push({ oldPath, newPath, hunks })
  }
  if (files.length === 0) throw new PatchError('expected a unified diff, found no file in it')
  return files
}

/** The inverse patch. */
export function reversePatch(files: readonly FilePatch[]): FilePatch[] {
  return files.map(({ oldPath, newPath, hunks }) => ({
    oldPath: newPath,
    newPath: oldPath,
    hunks: reverseHunks(hunks),
  }))
}

/** One file's content after a patch; a missing file has the content ''. Throws a PatchError if it does not apply. */
export function applyFilePatch(content: string, { hunks, newPath, oldPath }: FilePatch): string {
  const lines = splitLines(content)
  let shift = 0
  for (const { at, before, after } of hunks) {
    const place = findPlace(lines, before, at + shift)
    if (place === null) throw new PatchError(`a hunk at line ${at + 1} does not fit ${newPath ?? oldPath}`)
    lines.splice(place, before.length, ...after)
    shift += after.length - before.length + (place - at - shift)
  }
  return lines.join('')
}

/** The unified diff of one file, from a/PATH to b/PATH; empty if nothing differs. */
export function renderPatch(path: string, before: string, after: string): string {
  const [old, fresh] = [splitLines(before), splitLines(after)]
  const stretches = changedStretches(old, fresh)
  if (stretches.length === 0) return ''
  const hunks = stretches.map(({ from, to, freshFrom, freshTo }) => {
    const start = Math.max(0, from - contextLines)
    const end = Math.min(old.length, to + contextLines)
    const freshStart = freshFrom - (from - start)
    const rows = [
      ...old.slice(start, from).map((line) => mark(' ', line)),
      ...old.slice(from, to).map((line) => mark('-', line)),
      ...fresh.slice(freshFrom, freshTo).map((line) => mark('+', line)),
      ...old.slice(to, end).map((line) => mark(' ', line)),
    ]
    const freshCount = from - start + (freshTo - freshFrom) + (end - to)
    return `@@ -${span(start, end - start)} +${span(freshStart, freshCount)} @@\n${rows.join('')}`
  })
  return `--- a/${path}\n+++ b/${path}\n${hunks.join('')}`
}

const contextLines = 3

interface Stretch {
  readonly from: number
  readonly to: number
  readonly freshFrom: number
  readonly freshTo: number
}

/** The change from the first to the last differing line as one piece: patches here are mostly single edits. */
function changedStretches(old: readonly string[], fresh: readonly string[]): Stretch[] {
  const shorter = Math.min(old.length, fresh.length)
  let head = 0
  while (head < shorter && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  if (head === old.length && head === fresh.length) return []
  return [{ from: head, to: old.length - tail, freshFrom: head, freshTo: fresh.length - tail }]
}

function mark(sign: string, line: string): string {
  return line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`
}

function span(start: number, count: number): string {
  const first = count === 0 ? start : start + 1
  return count === 1 ? `${first}` : `${first},${count}`
}

function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function pathOf(line: string): string | null {
  const path = (line.slice(4).split('\t')[0] ?? '').trimEnd()
  if (path === '/dev/null') return null
  const plain = path.replace(/^[ab]\//, '')
  const isInside = plain !== '' && !plain.startsWith('/') && !plain.split('/').includes('..') && !plain.includes('\0')
  if (!isInside) throw new PatchError(`expected paths inside of the repository, got ${JSON.stringify(path)}`)
  return plain
}

function parseHunk(lines: readonly string[], start: number): { hunk: Hunk; next: number } {
  const header = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[start] ?? '')
  if (!header) throw new PatchError(`expected @@ -LINE,COUNT +LINE,COUNT @@, got ${lines[start]?.slice(0, 80)}`)
  const [, first = '0', oldCount = '1', newCount = '1'] = header
  const before: string[] = []
  const after: string[] = []
  let i = start + 1
  while (before.length < Number(oldCount) || after.length < Number(newCount)) {
    const line = lines[i]
    if (line === undefined) throw new PatchError('the patch ends within a hunk')
    const sign = line[0] ?? ' '
    const text = `${line.slice(1)}\n`
    if (sign === ' ' || sign === '-') before.push(text)
    if (sign === ' ' || sign === '+') after.push(text)
    if (sign === '\\') dropLineEnd(lines[i - 1]?.[0], before, after)
    else if (!' +-'.includes(sign)) throw new PatchError(`expected a line of a hunk, got ${line.slice(0, 80)}`)
    i++
  }
  if (lines[i]?.startsWith('\\')) dropLineEnd(lines[i++ - 1]?.[0], before, after)
  return { hunk: { at: Number(oldCount) === 0 ? Number(first) : Number(first) - 1, before, after }, next: i }
}

function dropLineEnd(sign: string | undefined, before: string[], after: string[]): void {
  for (const [side, signs] of [
    [before, ' -'],
    [after, ' +'],
  ] as const) {
    const last = side.at(-1)
    if (last !== undefined && signs.includes(sign ?? ' ')) side[side.length - 1] = last.replace(/\n$/, '')
  }
}

function reverseHunks(hunks: readonly Hunk[]): Hunk[] {
  let shift = 0
  return hunks.map(({ at, before, after }) => {
    const turned = { at: at + shift, before: after, after: before }
    shift += after.length - before.length
    return turned
  })
}

/** How many lines are compared before the search is given up: far more than real patches need, and under a second. */
const mostCompared = 10_000_000

/** The position of the old lines: where the patch says, or as near as possible. Null if they are not found. */
function findPlace(lines: readonly string[], before: readonly string[], at: number): number | null {
  let compared = 0
  const same = (line: string, place: number) => {
    compared++
    return lines[place] === line
  }
  const fits = (place: number) =>
    place >= 0 && place + before.length <= lines.length && before.every((line, i) => same(line, place + i))
  for (let away = 0; away <= lines.length && compared <= mostCompared; away++) {
    if (fits(at - away)) return at - away
    if (fits(at + away)) return at + away
  }
  return null
}
