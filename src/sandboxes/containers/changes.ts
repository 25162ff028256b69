import { z } from 'zod'
import { changedFilesLimit, tooManyChanges } from '../../core/system-files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { blockBytes } from '../../lib/tar-format.ts'
import { type RawTarEntry, readTar } from '../../lib/tar-read.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import type { Layer } from './layer.ts'

const changeSchema = z.object({ Path: z.string(), Kind: z.number() })
const kinds = ['modified', 'added', 'removed'] as const

/** One path of a container that differs from its image. */
export interface Change {
  readonly path: string
  readonly kind: (typeof kinds)[number]
}

/**
 * What programs changed in a container according to the engine, read piece by piece: there may be a million changes.
 */
export async function* listChanges(engine: ContainerEngine, container: string): AsyncGenerator<Change, void, void> {
  const answer = await engine.stream({ method: 'GET', path: url`/containers/${container}/changes` })
  let rest = ''
  for await (const text of answer.setEncoding('utf8')) {
    rest += text
    const object = /\{(?:"(?:[^"\\]|\\.)*"|[^"{}])*\}/g
    let end = 0
    for (let found = object.exec(rest); found !== null; found = object.exec(rest)) {
      end = object.lastIndex
      const { Path, Kind } = changeSchema.parse(readJson(found[0]))
      yield { path: pathKey(Path), kind: kinds[Kind] ?? 'modified' }
    }
    rest = rest.slice(end)
  }
}

/**
 * Deeper than any honest tree. Docker does not list changes of paths that are too long, and Podman takes hours for
 * them.
 */
const deepest = 200

/** Whether a container has a tree too deep for the engine's list of changes. */
export async function isDeep(engine: ContainerEngine, container: string, layer: Layer | null): Promise<boolean> {
  if (layer) return layer.isDeeper(deepest)
  for await (const [path] of looksOf(engine, container)) if (path.split('/').length > deepest) return true
  return false
}

/**
 * The same by comparing all files of both, for containers whose changes the engine cannot list. As in Docker, owner,
 * mode, size, time and link target are compared.
 */
export async function* compareFiles(
  engine: ContainerEngine,
  image: string,
  container: string,
): AsyncGenerator<Change, void, void> {
  const before = new Map<string, string>()
  for await (const [path, look] of looksOf(engine, image)) before.set(path, look)
  for await (const [path, look] of looksOf(engine, container)) {
    const known = before.get(path)
    before.delete(path)
    if (known === undefined) yield { path, kind: 'added' }
    else if (known !== look) yield { path, kind: 'modified' }
  }
  let gone: string | null = null
  for (const path of before.keys()) {
    if (gone === null || !path.startsWith(`${gone}/`)) yield { path, kind: 'removed' }
    else continue
    gone = path
  }
}

async function* looksOf(
  engine: ContainerEngine,
  container: string,
): AsyncGenerator<[path: string, look: string], void, void> {
  const exported = await engine.stream({ method: 'GET', path: url`/containers/${container}/export` })
  try {
    for await (const entry of readTar(exported)) {
      const path = entryPath(entry.name, entry.garbledName)
      if (path !== '/') yield [path, lookOf(entry)]
    }
  } finally {
    exported.destroy()
  }
}

/** Mode, owner and, except for directories, size and time, as in the header. */
function lookOf({ kind, head, link }: RawTarEntry): string {
  const fields = head.subarray(head.length - blockBytes + 100, head.length - blockBytes + (kind === 'dir' ? 124 : 148))
  return `${kind} ${Buffer.from(fields).toString('latin1')} ${link}`
}

/** The path of an archive entry in the form that lists of changes use. */
export function entryPath(name: string, isGarbled: boolean): string {
  const text = isGarbled ? Buffer.from(name, 'latin1').toString('utf8') : name
  return pathKey(`/${text.replace(/^(?:\.?\/)+|\/+$/g, '')}`)
}

/** A path in the form that lists of changes use: bytes that are not text become placeholders. */
function pathKey(path: string): string {
  return path.replaceAll(/\ufffd+/g, '\ufffd')
}

/** The paths above a path, from its directory up, without the root. */
export function* above(path: string): Generator<string, void, void> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) yield path.slice(0, end)
}

/** How a container's files differ from its image. */
export class ChangeLog {
  private constructor(
    /** What was made or changed. */
    readonly touched: ReadonlySet<string>,
    /** What the image has and the container no longer has. */
    readonly removed: ReadonlySet<string>,
    private readonly added: ReadonlySet<string>,
  ) {}

  static async of(changes: AsyncIterable<Change>, limit = changedFilesLimit): Promise<ChangeLog> {
    const [touched, removed, added] = [new Set<string>(), new Set<string>(), new Set<string>()]
    for await (const { path, kind } of changes) {
      if (kind === 'removed') removed.add(path)
      else touched.add(path)
      if (kind === 'added') added.add(path)
      if (touched.size + removed.size > limit) throw tooManyChanges(limit)
    }
    return new ChangeLog(touched, removed, added)
  }

  /** Whether a changed path does not exist in the image. */
  isAdded(path: string): boolean {
    return this.added.has(path)
  }
}
