import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { type BuildContext, type ContextEntry, ContextError } from '../../formats/dockerfile/context.ts'
import type { CopyStep } from '../../formats/dockerfile/step.ts'
import { blockBytes, paddingOf, renderHeader } from '../../lib/tar-format.ts'

/** `archive`: a file that ADD unpacks if it really is an archive. */
export type CopyKind = 'file' | 'dir' | 'archive'

/** A file with the digest of its content, or with the content itself if the Dockerfile contains it. */
type CopyEntry = ContextEntry & { readonly digest: string; readonly content: Uint8Array | null }

/** One source of a COPY, ready to send. */
export interface CopyItem {
  readonly kind: CopyKind
  readonly entries: readonly CopyEntry[]
}

/** Reads what a step copies from its context, and hashes it. */
export async function gatherItems(step: CopyStep, context: BuildContext): Promise<readonly CopyItem[]> {
  const items: CopyItem[] = []
  for (const source of step.sources) {
    if (typeof source !== 'string') {
      items.push(inlineItem(source.name, source.content))
      continue
    }
    for (const selected of await context.select(source)) {
      const entries = await Promise.all(selected.entries.map(hashEntry))
      items.push({ kind: await kindOf(selected.kind, entries[0], step.unpack), entries })
    }
  }
  return items
}

/**
 * The digest of names, kinds, modes and contents: everything that decides what a COPY leaves behind. Times do not
 * count.
 */
export function digestItems(items: readonly CopyItem[]): string {
  const facts = items.map(({ kind, entries }) => [
    kind,
    entries.map((e) => [e.path, e.kind, e.mode, e.target, e.digest]),
  ])
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex')
}

/** The directory in which an item's files are packed; `placeScript` sorts by the number and reads the kind. */
export function itemDir(index: number, kind: CopyKind): string {
  return `${String(index).padStart(6, '0')}.${kind}`
}

/** All items as one tar, one directory each. Throws when a file has changed since it was hashed. */
export async function* tarItems(items: readonly CopyItem[]): AsyncGenerator<Uint8Array, void, void> {
  for (const [index, { kind, entries }] of items.entries()) {
    const dir = itemDir(index, kind)
    yield renderHeader({ name: `${dir}/`, kind: 'dir', mode: 0o755, size: 0, link: '' })
    for (const entry of entries) {
      const { mode, size, target: link, modifiedSec } = entry
      const name = `${dir}/${entry.path}${entry.kind === 'dir' ? '/' : ''}`
      yield renderHeader({ name, kind: entry.kind, mode, size, link, modifiedSec })
      if (entry.kind === 'file') yield* contentOf(entry)
    }
  }
  yield new Uint8Array(2 * blockBytes)
}

function inlineItem(name: string, text: string): CopyItem {
  const content = Buffer.from(text)
  const digest = createHash('sha256').update(content).digest('hex')
  const modifiedSec = Math.floor(Date.now() / 1000)
  const entry = {
    path: name,
    source: '',
    kind: 'file',
    mode: 0o644,
    size: content.length,
    target: '',
    modifiedSec,
  } as const
  return { kind: 'file', entries: [{ ...entry, digest, content }] }
}

async function hashEntry(entry: ContextEntry): Promise<CopyEntry> {
  if (entry.kind !== 'file') return { ...entry, digest: '', content: null }
  const hash = createHash('sha256')
  for await (const chunk of readFile(entry)) hash.update(chunk)
  return { ...entry, digest: hash.digest('hex'), content: null }
}

async function* contentOf(entry: CopyEntry): AsyncGenerator<Uint8Array, void, void> {
  const hash = createHash('sha256')
  for await (const chunk of entry.content ? [entry.content] : readFile(entry)) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== entry.digest) throw new ContextError(`${entry.path} changed while it was copied`)
  yield new Uint8Array(paddingOf(entry.size))
}

/** Yields at most as many bytes as the file had when it was examined: the tar entry has no room for more. */
async function* readFile({ source, size }: ContextEntry): AsyncGenerator<Uint8Array, void, void> {
  const file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    for (let left = size; left > 0; ) {
      const buffer = Buffer.allocUnsafe(Math.min(left, 256 << 10))
      const { bytesRead } = await file.read(buffer, 0, buffer.length)
      if (bytesRead === 0) return
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

async function kindOf(kind: 'file' | 'dir', first: ContextEntry | undefined, unpack: boolean): Promise<CopyKind> {
  if (kind === 'dir' || !unpack || first?.kind !== 'file') return kind
  for await (const start of readFile({ ...first, size: Math.min(first.size, blockBytes) })) {
    return looksLikeArchive(Buffer.from(start)) ? 'archive' : 'file'
  }
  return 'file'
}

/** Recognizes gzip, bzip2, xz, zstd and plain tar. */
function looksLikeArchive(start: Buffer): boolean {
  const magics = [
    [0x1f, 0x8b],
    [0x42, 0x5a, 0x68],
    [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00],
    [0x28, 0xb5, 0x2f, 0xfd],
  ]
  const isPacked = magics.some((magic) => start.subarray(0, magic.length).equals(Buffer.from(magic)))
  return isPacked || start.subarray(257, 262).toString('latin1') === 'ustar'
}
