import { Readable } from 'node:stream'
import type { SystemChange } from '../../core/system-files.ts'
import { blockBytes, paddingOf } from '../../lib/tar-format.ts'
import { type RawTarEntry, readTar, type TarEntry } from '../../lib/tar-read.ts'
import { CarryRules, type CarryRulesOptions } from './carry-rules.ts'
import { entryPath } from './changes.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import { fewBytes } from './few-entries.ts'
import type { Layer } from './layer.ts'

export interface CarryOptions extends CarryRulesOptions {
  readonly engine: ContainerEngine
  /** The container with the agent's files; nothing runs in it. */
  readonly from: string
  /** What changed in it, if that can be read without the engine. */
  readonly layer: Layer | null
  /** A running container of the image, untouched by the agent so far. */
  readonly to: string
  /** Removes files from `to`. */
  readonly remove: (paths: readonly string[]) => Promise<void>
  /** Unpacks a small archive in `to` without the engine; false if that did not work and the engine has to do it. */
  readonly unpackFew: (archive: Uint8Array) => Promise<boolean>
}

/** The longest path that is carried over; no program can use a longer one in a single call. */
const pathLimitBytes = 4000

/**
 * Makes the files of a fresh container match the agent's: removes what the agent removed, then copies what it made or
 * changed, from engine to engine. On request, system files are left out and the list of them is returned. A change that
 * the engine does not list is not carried over either: nothing of the agent's comes along by mistake.
 */
export async function carryOver(options: CarryOptions): Promise<SystemChange[]> {
  const { engine, from, layer, log, to, remove, unpackFew } = options
  const rules = await CarryRules.make(options)
  await remove([...log.removed].filter((path) => !path.includes('\ufffd') && rules.mayRemove(path)))
  const files = layer?.read() ?? (await engine.stream({ method: 'GET', path: url`/containers/${from}/export` }))
  try {
    const all = chosen(readTar(files), rules)
    const start = await beginningOf(all)
    if (!start.isWhole || !(await unpackFew(start.bytes))) {
      const tar = joined(start.bytes, all)
      await engine.ask({ method: 'PUT', path: url`/containers/${to}/archive`, query: { path: '/' }, tar })
    }
  } finally {
    if (files instanceof Readable) files.destroy()
    else await files.return()
  }
  return rules.finish()
}

/** Reads until there is more than a small archive may hold. */
async function beginningOf(tar: AsyncGenerator<Uint8Array, void, void>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = []
  for (let size = 0; size <= fewBytes; ) {
    const { done, value } = await tar.next()
    if (done) return { bytes: Buffer.concat(chunks), isWhole: true }
    // A copy, because the archive's reader may reuse its memory.
    chunks.push(Buffer.from(value))
    size += value.length
  }
  return { bytes: Buffer.concat(chunks), isWhole: false }
}

async function* joined(
  start: Uint8Array,
  rest: AsyncGenerator<Uint8Array, void, void>,
): AsyncGenerator<Uint8Array, void, void> {
  yield start
  yield* rest
}

/** The archive of the entries to carry over, byte by byte as the engine wrote them. */
async function* chosen(entries: AsyncIterable<RawTarEntry>, rules: CarryRules): AsyncGenerator<Uint8Array, void, void> {
  for await (const entry of entries) {
    const path = entryPath(entry.name, entry.garbledName)
    if (!rules.isListed(path)) continue
    if (Buffer.byteLength(path) > pathLimitBytes || entry.kind === 'device' || entry.kind === 'other') {
      rules.leaveOut(path)
      continue
    }
    const head = entry.kind === 'file' && rules.wantsText(path) ? await beginning(entry) : null
    const text = entry.kind === 'file' ? (head?.toString('latin1') ?? '') : null
    if (!rules.decide(path, entry.kind === 'dir' ? 'dir' : 'other', text)) continue
    if (entry.kind === 'hardlink' && !rules.hasTarget(entryPath(entry.link, entry.garbledLink))) {
      rules.leaveOut(path)
      continue
    }
    yield entry.head
    if (head) yield head
    for await (const chunk of entry.body) yield chunk
    if (entry.size > 0) yield new Uint8Array(paddingOf(entry.size))
  }
  yield new Uint8Array(2 * blockBytes)
}

/** As much of a file as is needed to judge it, or all of it if it is shorter. */
async function beginning(entry: TarEntry): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  const chunksOf = entry.body[Symbol.asyncIterator]()
  while (size < 64 * 1024) {
    const { done, value } = await chunksOf.next()
    if (done) break
    chunks.push(value.slice())
    size += value.length
  }
  return Buffer.concat(chunks)
}
