/** An absolute path named in a text, the line that names it, and where that line is (file and number). */
export interface NamedPath {
  readonly path: string
  readonly line: string
  readonly where: string
}

/** A line of one of the task's files. */
export interface Line {
  readonly text: string
  readonly where: string
}

/**
 * System folders, and the tests' own: these paths exist or only tests look at them, so the instruction need not explain
 * them.
 */
const system = /^\/(?:tests|solution|logs|dev|proc|sys|bin|sbin|lib|lib64|usr|boot|run)(?:\/|$)/
/** Capital letters that are placeholders for parts of a name. */
const standIn = /(?<![A-Za-z])(?:YYYY|MM|DD|HH|SS|EXT|NAME|ID|NN+|XX+)(?![A-Za-z])/
/** A path of at least two names: a single one is usually a tag or a route. */
const absolute = /(?<![\w.\\/:~$}<>*\])[-])\/[A-Za-z0-9_][\w.+@-]*(?:\/[\w.+@-]+)+/g

/** The absolute paths in the prose of an instruction, each once. Fenced text is an example and is skipped. */
export function pathsInProse(text: string): NamedPath[] {
  return once(proseLines(text).flatMap(pathsInLine))
}

/** The absolute paths that scripts spell out, each once. */
export function pathsInScripts(files: readonly { readonly path: string; readonly text: string }[]): NamedPath[] {
  return once(files.flatMap(({ path, text }) => linesOf(path, text)).flatMap(pathsInLine))
}

/** The lines of an instruction outside of fenced blocks. */
export function proseLines(instruction: string): Line[] {
  let fenced = false
  return linesOf('instruction.md', instruction).filter(({ text }) => {
    const isFence = /^\s*(?:```|~~~)/.test(text)
    if (isFence) fenced = !fenced
    return !fenced && !isFence
  })
}

function linesOf(path: string, text: string): Line[] {
  return text.split('\n').map((line, nth) => ({ text: line, where: `${path}:${nth + 1}` }))
}

function pathsInLine({ text: line, where }: Line): NamedPath[] {
  return [...line.matchAll(absolute)].flatMap((found) => {
    const path = found[0].replace(/(?<![.\-+@])[.\-+@]+$/, '')
    // A pattern or a template does not name a file: `/app/*.log`, `/app/{name}.txt`, `/app/<id>`,
    // `/app/YYYY-MM-DD.EXT`.
    const next = line.slice(found.index + found[0].length)
    if (system.test(path) || standIn.test(path) || /^\/?[*{<$[]/.test(next)) return []
    return [{ path, line: line.trim(), where }]
  })
}

/** Each path with its first mention, which explains it. */
function once(found: readonly NamedPath[]): NamedPath[] {
  const byPath = new Map<string, NamedPath>()
  for (const it of found) if (!byPath.has(it.path)) byPath.set(it.path, it)
  return [...byPath.values()]
}
