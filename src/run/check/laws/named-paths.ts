/** An absolute path that a text names, and the line that names it. */
export interface NamedPath {
  readonly path: string
  readonly line: string
}

/** Names in other people's folders: they are there, or a test looks at them, and the instruction owes no explanation. */
const system = /^\/(?:tests|solution|logs|dev|proc|sys|bin|sbin|lib|lib64|usr|boot|run)(?:\/|$)/
/** A path of two names at least: one alone is mostly a tag or a route. */
const absolute = /(?<![\w.\\/:~$}<>*\])[-])\/[A-Za-z0-9_][\w.+@-]*(?:\/[\w.+@-]+)+/g

/** The absolute paths in the prose of an instruction, once each. What is fenced is an example. */
export function pathsInProse(text: string): NamedPath[] {
  return once(proseLines(text).flatMap(pathsInLine))
}

/** The absolute paths that scripts spell out, once each. */
export function pathsInScripts(texts: readonly string[]): NamedPath[] {
  return once(texts.flatMap((text) => text.split('\n')).flatMap(pathsInLine))
}

/** The lines of a text outside of fenced blocks. */
export function proseLines(text: string): string[] {
  let fenced = false
  return text.split('\n').filter((line) => {
    const isFence = /^\s*(?:```|~~~)/.test(line)
    if (isFence) fenced = !fenced
    return !fenced && !isFence
  })
}

function pathsInLine(line: string): NamedPath[] {
  return [...line.matchAll(absolute)].flatMap((found) => {
    const path = found[0].replace(/[.\-+@]+$/, '')
    // A pattern or a template is no name: `/app/*.log`, `/app/{name}.txt`, `/app/<id>`.
    const next = line.slice(found.index + found[0].length)
    if (system.test(path) || /^\/?[*{<$[]/.test(next)) return []
    return [{ path, line: line.trim() }]
  })
}

function once(found: readonly NamedPath[]): NamedPath[] {
  return [...new Map(found.map((it) => [it.path, it])).values()]
}
