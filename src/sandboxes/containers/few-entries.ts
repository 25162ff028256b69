import { shellQuote } from '../../lib/shell.ts'
import { blockBytes, parsePax, plainOctal } from '../../lib/tar-format.ts'
import { type RawTarEntry, readTar } from '../../lib/tar-read.ts'
import { entryPath } from './changes.ts'
import { printfFormat } from './script.ts'

/** The largest archive worth a script: a program argument holds 128 KiB, and a byte takes up to four characters. */
export const fewBytes = 64 * 1024
const scriptBytes = 96 * 1024
const fewEntries = 64

/**
 * The script that unpacks a small archive at the root as an engine would, with owners, modes and times. It removes
 * whatever is in an entry's place, except that a directory stays for a directory. Null for an archive that a script
 * cannot handle.
 */
export async function renderEntries(archive: Uint8Array): Promise<string | null> {
  const lines = ['umask 022']
  const [owners, modes, times] = [new Groups(), new Groups(), new Groups()]
  let entries = 0
  for await (const entry of readTar(chunks(archive))) {
    const path = entryPath(entry.name, entry.garbledName)
    const facts = factsOf(entry)
    const isPlain = !entry.garbledName && !entry.garbledLink && !/\ufffd|\/(?:\.{0,2}(?:\/|$))/.test(path)
    if (facts === null || !isPlain || ++entries > fewEntries) return null
    const at = shellQuote(path)
    const made = await renderOne(entry, at)
    if (made === null) return null
    lines.push(made)
    const isDir = entry.kind === 'dir'
    // Newly made entries belong to root; a directory may have existed before.
    if (isDir || facts.owner !== '0:0') owners.add(facts.owner, at)
    if (entry.kind !== 'symlink' && (isDir || facts.mode !== '644')) modes.add(facts.mode, at)
    times.add(facts.time, at)
  }
  lines.push(...owners.lines((owner) => `chown -h ${owner}`))
  lines.push(...modes.lines((mode) => `chmod ${mode}`))
  lines.push(...times.lines((time) => `touch -h -d @${time}`))
  const script = lines.join(' && ')
  // It is quoted once more on its way, which turns each quote into three or more characters.
  return Buffer.byteLength(shellQuote(script)) > scriptBytes ? null : script
}

async function renderOne(entry: RawTarEntry, at: string): Promise<string | null> {
  if (entry.kind === 'dir') return `{ [ -d ${at} ] && [ ! -h ${at} ] || { rm -rf -- ${at} && mkdir -- ${at}; }; }`
  const clear = `{ [ ! -e ${at} ] && [ ! -h ${at} ] || rm -rf -- ${at}; }`
  if (entry.kind === 'symlink') return `${clear} && ln -s -- ${shellQuote(entry.link)} ${at}`
  if (entry.kind !== 'file') return null
  const content: Uint8Array[] = []
  for await (const chunk of entry.body) content.push(chunk)
  return `${clear} && printf ${printfFormat(Buffer.concat(content))} > ${at}`
}

interface Facts {
  readonly owner: string
  readonly mode: string
  /** Seconds since 1970, with a fraction. */
  readonly time: string
}

/**
 * What headers contain besides the name; null if they contain more than a script can handle, for example attributes.
 */
function factsOf({ head, mode }: RawTarEntry): Facts | null {
  const block = head.subarray(head.length - blockBytes)
  const extended = extendedOf(head.subarray(0, head.length - blockBytes))
  if (extended === null) return null
  const number = (name: string, start: number, end: number) =>
    Buffer.from(extended.get(name) ?? String(plainOctal(block, start, end))).toString('latin1')
  const owner = `${number('uid', 108, 116)}:${number('gid', 116, 124)}`
  const time = number('mtime', 136, 148)
  if (!/^\d+:\d+$/.test(owner) || !/^\d+(\.\d+)?$/.test(time)) return null
  return { owner, mode: (mode & 0o7777).toString(8), time }
}

const known = new Set(['path', 'linkpath', 'uid', 'gid', 'mtime', 'size'])

function extendedOf(head: Uint8Array): ReadonlyMap<string, Uint8Array> | null {
  if (head.length === 0) return new Map()
  const size = plainOctal(head, 124, 136) ?? Number.NaN
  const isOne = head[156] === 'x'.charCodeAt(0) && head.length - blockBytes - size < blockBytes
  if (!isOne) return null
  const records = parsePax(head.subarray(blockBytes, blockBytes + size))
  return [...records.keys()].every((name) => known.has(name)) ? records : null
}

/** Paths grouped by what must be done to them, so that one program handles them all. */
class Groups {
  private readonly groups = new Map<string, string[]>()

  add(key: string, path: string): void {
    const paths = this.groups.get(key) ?? []
    paths.push(path)
    this.groups.set(key, paths)
  }

  lines(command: (key: string) => string): string[] {
    return [...this.groups].map(([key, paths]) => `${command(key)} -- ${paths.join(' ')}`)
  }
}

async function* chunks(archive: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield archive
}
