import { constants, lstatSync, readdirSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  changedFilesLimit,
  isBytecode,
  isSystemFile,
  listedChanges,
  ruleFor,
  type SystemChange,
  type SystemChanges,
  type SystemView,
  tooManyChanges,
} from '../../core/system-files.ts'
import { codeOf, isMissing } from '../../lib/files.ts'
import { blockBytes, paddingOf, parseHeader } from '../../lib/tar-format.ts'

/** The directories one overlay is made of. */
export interface OverlayDirs {
  /** Its mount point inside, without a trailing slash; empty for the root. */
  readonly target: string
  /** Holds what programs inside changed. */
  readonly upper: string
  /** What the image has, top to bottom. */
  readonly lowers: readonly string[]
}

/**
 * A changed system file, and where it is on the host: a file, a directory, or the device that stands for a removed one.
 */
export interface FoundChange extends SystemChange {
  readonly at: string
}

/** Runs a program that may read and move everything inside, even where this process itself may not. */
export type AsRootInside = (argv: readonly string[], stdin?: Uint8Array) => Promise<Buffer>

/**
 * The system files that programs inside changed, found in the upper directories of overlays that nothing is writing to.
 * No link is followed. Entries deeper than any system file are skipped. More than `limit` entries are an error.
 */
export async function findSystemChanges(
  dirs: readonly OverlayDirs[],
  path: readonly string[],
  asRoot: AsRootInside,
  limit = changedFilesLimit,
): Promise<FoundChange[]> {
  const overlays = dirs.map((overlay) => ({
    target: overlay.target,
    upper: toBytes(overlay.upper),
    lowers: overlay.lowers.map(toBytes),
  }))
  const walk = (tree: Tree) => new Walk(tree, overlays, path, limit).run()
  const { found, candidates } = await walk(direct(asRoot)).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EACCES') throw error
    return walk(await listTree(overlays, asRoot, limit))
  })
  const hiding = await opaqueAmong(candidates, asRoot)
  const whole = hiding.map(({ path, at }) => ({ path, at, change: 'modified' as const }))
  return [...whole, ...found.filter(({ path }) => !whole.some((dir) => path.startsWith(`${dir.path}/`)))]
}

/** What a record says about changes that were restored. */
export function listChanges(found: readonly SystemChange[]): SystemChanges {
  const reported = found.filter(({ path }) => !isBytecode(path))
  const told = reported.slice(0, listedChanges)
  const files = told.map(({ path, change }) => ({ path: bytesOf(path).toString('utf8'), change }))
  return { files, total: reported.length }
}

/** Moves changed files out of the way, into a directory next to them; returns a function that moves them back. */
export async function setAside(found: readonly FoundChange[], dir: string, asRoot: AsRootInside) {
  await mkdir(dir, { recursive: true })
  const moves = found.map(({ at }, index) => [at, `${toBytes(dir)}/${index}`] as const)
  for (const [from, to] of moves) await move(from, to, asRoot)
  return async () => {
    for (const [from, to] of moves.toReversed()) await move(to, from, asRoot)
  }
}

async function move(from: string, to: string, asRoot: AsRootInside): Promise<void> {
  await rename(bytesOf(from), bytesOf(to)).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'EPERM') throw error
    // Names go through stdin, because they need not be UTF-8.
    await asRoot(['xargs', '-0', 'mv', '-T', '--'], bytesOf(`${from}\0${to}\0`))
  })
}

type Kind = 'dir' | 'removed' | 'other'

/** How directories are read: by this process, or from a list that a process with more rights made. */
interface Tree {
  list(dir: string): readonly (readonly [name: string, kind: Kind])[]
  kindOf(path: string): Kind | null
  text(path: string): Promise<string>
}

const depthLimit = 40
const textBytes = 64 * 1024
/** Blocking calls cost a fraction of others; after this many entries, everything else gets its turn. */
const seenAtOnce = 64

type Candidate = Omit<FoundChange, 'change'>

class Walk {
  private readonly found: FoundChange[] = []
  /** Directories of the system that may hide everything the image has in them. */
  private readonly candidates: Candidate[] = []
  private seen = 0

  constructor(
    private readonly tree: Tree,
    private readonly overlays: readonly OverlayDirs[],
    private readonly searchPath: readonly string[],
    private readonly limit: number,
  ) {}

  async run() {
    for (const { target, upper, lowers } of this.overlays) await this.visit(target, upper, lowers, 0)
    return { found: this.found, candidates: this.candidates }
  }

  private async visit(path: string, at: string, lowers: readonly string[], depth: number): Promise<void> {
    if (depth > depthLimit) return
    const isSystem = depth > 0 && ruleFor({ path, change: 'modified' }, this.searchPath) === 'system'
    if (isSystem && lowers.length > 0) this.candidates.push({ path, at })
    for (const [name, kind] of this.tree.list(at)) {
      if (++this.seen > this.limit) throw tooManyChanges(this.limit)
      if (this.seen % seenAtOnce === 0) await setImmediate()
      const below = { path: `${path}/${name}`, at: `${at}/${name}` }
      // Another overlay is mounted there.
      if (this.overlays.some(({ target }) => target === below.path)) continue
      const image = this.imageAt(lowers, name)
      if (kind === 'dir' && (image === null || image.length > 0))
        await this.visit(below.path, below.at, image ?? [], depth + 1)
      else await this.judge(below, changeOf(kind, image !== null))
    }
  }

  private async judge({ path, at }: Candidate, change: SystemChange['change'] | null): Promise<void> {
    if (change === null) return
    const view: SystemView = {
      path: this.searchPath,
      imageHas: async (wanted) => this.imageHas(wanted),
      changedText: () => this.tree.text(at),
    }
    if (await isSystemFile({ path, change }, view)) this.found.push({ path, at, change })
  }

  /** The image's directories with a name; empty when it has something else there; null when it has nothing. */
  private imageAt(lowers: readonly string[], name: string): string[] | null {
    const dirs: string[] = []
    for (const lower of lowers) {
      const kind = this.tree.kindOf(`${lower}/${name}`)
      if (kind === null) continue
      if (kind !== 'dir') return dirs.length > 0 ? dirs : kind === 'removed' ? null : []
      dirs.push(`${lower}/${name}`)
    }
    return dirs.length > 0 ? dirs : null
  }

  private imageHas(path: string): boolean {
    const overlay = this.overlays
      .filter(({ target }) => path.startsWith(`${target}/`))
      .reduce((a, b) => (b.target.length > a.target.length ? b : a))
    let lowers: string[] | null = [...overlay.lowers]
    for (const name of path.slice(overlay.target.length + 1).split('/')) {
      lowers = lowers.length > 0 ? this.imageAt(lowers, name) : null
      if (lowers === null) return false
    }
    return true
  }
}

function changeOf(kind: Kind, inImage: boolean): SystemChange['change'] | null {
  if (kind === 'removed') return inImage ? 'removed' : null
  return inImage ? 'modified' : 'added'
}

function direct(asRoot: AsRootInside): Tree {
  return {
    list: (dir) => {
      const entries = ifReachable(() => readdirSync(bytesOf(dir), { withFileTypes: true, encoding: 'latin1' }))
      return entries?.map((entry) => [entry.name, kindOfEntry(entry)] as const) ?? []
    },
    kindOf: (path) => {
      const found = ifReachable(() => lstatSync(bytesOf(path), { throwIfNoEntry: false }))
      return found ? kindOfEntry(found) : null
    },
    text: async (path) => {
      try {
        return await headOf(path)
      } catch (error) {
        if (codeOf(error) !== 'EACCES') return ''
        const script = `xargs -0 sh -c '[ -f "$1" ] && [ ! -L "$1" ] && exec head -c ${textBytes} -- "$1"' sh || :`
        return (await asRoot(['sh', '-c', script], bytesOf(path))).toString('latin1')
      }
    },
  }
}

/** Null: missing, or too deep to be named. */
function ifReachable<T>(look: () => T): T | null {
  try {
    return look()
  } catch (error) {
    if (isMissing(error) || codeOf(error) === 'ENAMETOOLONG' || codeOf(error) === 'ENOTDIR') return null
    throw error
  }
}

/** Programs inside cannot make devices: one that exists stands for a removed file. */
function kindOfEntry(entry: { isDirectory(): boolean; isCharacterDevice(): boolean }): Kind {
  if (entry.isDirectory()) return 'dir'
  return entry.isCharacterDevice() ? 'removed' : 'other'
}

async function headOf(path: string): Promise<string> {
  const file = await open(bytesOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(textBytes), 0, textBytes, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/**
 * Directories of other users, listed at once by a program that may read them; those at the bottom are open to all. The
 * limit does not apply to layers of the image.
 */
export async function listTree(overlays: readonly OverlayDirs[], asRoot: AsRootInside, limit: number): Promise<Tree> {
  const [uppers, layers] = [overlays.map(({ upper }) => upper), overlays.flatMap(({ lowers }) => lowers.slice(0, -1))]
  const tops = [...uppers, ...layers]
  const script = `xargs -0 sh -c 'for top; do printf "\\0"; find "$top" -mindepth 1 -maxdepth ${depthLimit + 2} -printf "%y%P\\0"; done' sh 2>/dev/null`
  const list = (dirs: string[], end: string) => asRoot(['sh', '-c', script + end], bytesOf(dirs.join('\0')))
  const changed = await list(uppers, ` | head -c ${limit * 64}`)
  if (changed.length >= limit * 64) throw tooManyChanges(limit)
  const kinds = parseList(Buffer.concat([changed, await list(layers, ' || true')]).toString('latin1'), tops)
  const { kindOf, text } = direct(asRoot)
  return {
    list: (dir) => [...(kinds.get(dir) ?? [])],
    kindOf: (path) => {
      if (tops.some((top) => path.startsWith(`${top}/`))) return kinds.get(dirname(path))?.get(basename(path)) ?? null
      try {
        return kindOf(path)
      } catch {
        return 'other'
      }
    },
    text,
  }
}

/** The contents of each directory. An empty line of the list starts the next top directory. */
function parseList(list: string, tops: readonly string[]): ReadonlyMap<string, ReadonlyMap<string, Kind>> {
  const dirs = new Map<string, Map<string, Kind>>()
  let nth = -1
  for (let start = 0, end = list.indexOf('\0'); end >= 0; start = end + 1, end = list.indexOf('\0', start)) {
    if (end === start) nth++
    else {
      const path = `${tops[nth]}/${list.slice(start + 1, end)}`
      const kind = list[start] === 'd' ? 'dir' : list[start] === 'c' ? 'removed' : 'other'
      const names = dirs.get(dirname(path)) ?? new Map<string, Kind>()
      dirs.set(dirname(path), names.set(basename(path), kind))
    }
  }
  return dirs
}

/**
 * Directories that replace the image's contents, or show another directory of the image: a mark says so, which only tar
 * can read for us.
 */
async function opaqueAmong(candidates: readonly Candidate[], asRoot: AsRootInside): Promise<Candidate[]> {
  if (candidates.length === 0) return []
  const argv = ['tar', '--xattrs', '--xattrs-include=*', '--no-recursion', '--null', '-T', '-', '-cPf', '-']
  const archive = await asRoot(argv, bytesOf(candidates.map(({ at }) => `${at}\0`).join('')))
  const opaque: Candidate[] = []
  let marked = false
  let index = 0
  for (let offset = 0; offset < archive.length; ) {
    const header = parseHeader(archive.subarray(offset, offset + blockBytes))
    if (header === null) break
    const body = archive.subarray(offset + blockBytes, offset + blockBytes + header.size)
    offset += blockBytes + header.size + paddingOf(header.size)
    if ('xgLK'.includes(header.flag)) {
      marked ||= /\.(?:trusted|user)\.overlay\.(?:opaque=y|redirect=)/.test(body.toString('latin1'))
      continue
    }
    const candidate = candidates[index++]
    if (marked && candidate) opaque.push(candidate)
    marked = false
  }
  // Only the outermost: what is in it moves with it.
  return opaque.filter(({ path }) => !opaque.some((other) => path.startsWith(`${other.path}/`)))
}

/** Paths are kept byte by byte, as Latin-1 text, because a name inside need not be UTF-8. */
function toBytes(path: string): string {
  return Buffer.from(path, 'utf8').toString('latin1')
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}
