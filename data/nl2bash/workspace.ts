import type { DraftFile, Random } from 'ot-agent'
import { vocabulary } from './globs.ts'

/** The files of a task's folder, and commands for what files cannot express: empty folders and large files. */
export interface Workspace {
  readonly files: Readonly<Record<string, DraftFile>>
  readonly commands: readonly string[]
}

interface Thing {
  readonly kind: 'file' | 'dir' | 'link'
  readonly name: string
  readonly size: number | null
  readonly text?: string | undefined
  /** Permissions, in octal. */
  readonly mode?: string | undefined
  /** Time of the last modification. */
  readonly date?: string | undefined
}

interface Defaults {
  readonly fileMode?: string | null
  readonly folderMode?: string
  readonly date?: string | null
  /** How deep to put the files that the request does not mention. */
  readonly depth?: number
}

const folderNames = (
  'archive backup build client common drafts export import lab media misc office parts reports sample shared store team ' +
  'vault web'
).split(' ')

/** A folder under construction: names are never reused, and every task has its own. */
export function makeWorkspace(random: Random, isHarmless: (name: string) => boolean = () => true) {
  const files = new Map<string, string>()
  const large = new Map<string, number>()
  const dirs = new Set<string>()
  const links = new Set<string>()
  const modes = new Map<string, string>()
  const dates = new Map<string, string>()
  const folders = random.shuffle(folderNames.filter(isHarmless))
  const isTaken = (path: string) => files.has(path) || large.has(path) || dirs.has(path) || links.has(path)
  /** A folder at some depth below another; 0 is that folder itself. */
  const folderAt = (base: string, depth: number) => {
    let path = base
    for (let level = 0; level < depth; level++) path = join(path, random.pick(folders.slice(0, 3 + level)))
    return path
  }
  const put = (path: string, { kind, size, text, mode, date }: Thing) => {
    if (
      isTaken(path) ||
      [...files.keys(), ...large.keys()].some(
        (file) => path.startsWith(`${file}/`) || (file.startsWith(`${path}/`) && kind === 'file'),
      )
    )
      return
    if (mode !== undefined) modes.set(path, mode)
    if (date !== undefined) dates.set(path, date)
    if (kind === 'dir') dirs.add(path)
    else if (kind === 'link') links.add(path)
    else if (size === null) files.set(path, text ?? someLines(random))
    else if (size > 2000) large.set(path, size)
    else files.set(path, 'x'.repeat(Math.max(0, size - 1)) + (size > 0 ? '\n' : ''))
  }
  return {
    addDir: (path: string) => void dirs.add(path),
    /** Puts a thing `depth` levels below a folder; 1 is directly in it. */
    add: (base: string, depth: number, thing: Thing) => put(join(folderAt(base, depth - 1), thing.name), thing),
    /** Puts a file next to every folder, so that removing the folder never empties its parent. */
    keepParents: () => {
      for (const folder of new Set([...dirs].map(parentOf)))
        if (folder !== '.' && ![...files.keys()].some((path) => parentOf(path) === folder))
          files.set(join(folder, 'keep.dat'), someLines(random))
    },
    addAt: (folder: string, thing: Thing) => put(join(folder, thing.name), thing),
    /** The defaults for permissions and dates, where they matter. */
    finish: ({ fileMode = null, folderMode = '755', date = null, depth = 3 }: Defaults = {}): Workspace => {
      for (let nth = 0; nth < 3 + random.below(4); nth++) {
        const name = `${random.pick(vocabulary)}${random.below(90) + 10}.${random.pick(['cfg', 'dat', 'rst'])}`
        const folder = folderAt('', random.below(depth))
        if (isHarmless(name) && !isTaken(join(folder, name))) files.set(join(folder, name), someLines(random))
      }
      return {
        files: Object.fromEntries([...files].map(([path, data]) => [path, { data }])),
        commands: [
          ...makingCommands({ dirs, links, large }, random),
          ...stampingCommands({ modes, dates, fileMode, folderMode, date }),
        ],
      }
    },
  }
}

interface ToMake {
  readonly dirs: ReadonlySet<string>
  readonly links: ReadonlySet<string>
  readonly large: ReadonlyMap<string, number>
}

function makingCommands({ dirs, links, large }: ToMake, random: Random): string[] {
  const inParent = (path: string, command: string) => `mkdir -p ${quoted(parentOf(path))} && ${command} ${quoted(path)}`
  return [
    ...[...dirs].map((path) => `mkdir -p ${quoted(path)}`),
    ...[...links].map((path) => inParent(path, `ln -s ${random.pick(vocabulary)}.dat`)),
    ...[...large].map(([path, size]) => inParent(path, `truncate -s ${size}`)),
  ]
}

interface ToStamp {
  readonly modes: ReadonlyMap<string, string>
  readonly dates: ReadonlyMap<string, string>
  readonly fileMode: string | null
  readonly folderMode: string
  readonly date: string | null
}

/** Sets permissions and dates: first on everything, then on single files and folders. */
function stampingCommands({ modes, dates, fileMode, folderMode, date }: ToStamp): string[] {
  const modesOfAll = [
    `find . -mindepth 1 -type d -exec chmod ${folderMode} {} +`,
    `find . -type f -exec chmod ${fileMode} {} +`,
  ]
  return [
    ...(fileMode === null ? [] : modesOfAll),
    ...[...modes].map(([path, mode]) => `chmod ${mode} ${quoted(path)}`),
    ...(date === null ? [] : [`find . -exec touch -h -d '${date}' {} +`]),
    ...[...dates].map(([path, each]) => `touch -h -d '${each}' ${quoted(path)}`),
  ]
}

const join = (folder: string, name: string) => (folder === '' ? name : `${folder}/${name}`)
const parentOf = (path: string) => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')
const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`

function someLines(random: Random): string {
  const lines = Array.from(
    { length: 2 + random.below(4) },
    () => `${random.pick(vocabulary)} ${random.pick(vocabulary)} ${random.below(1000)}`,
  )
  return `${lines.join('\n')}\n`
}
