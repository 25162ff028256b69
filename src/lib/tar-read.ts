import {
  ArchiveError,
  blockBytes,
  kindOf,
  paddingOf,
  parseHeader,
  parsePax,
  plainOctal,
  type RawHeader,
  type TarHeader,
  upToNul,
} from './tar-format.ts'

/** One entry as read from an archive; read or skip its body before requesting the next. */
export interface TarEntry extends TarHeader {
  /** True when the name is not UTF-8: it is then only good for messages. */
  readonly garbledName: boolean
  /** The same for the link. */
  readonly garbledLink: boolean
  readonly body: AsyncIterable<Uint8Array>
}

/** An entry with its original header blocks, for passing it on unchanged. */
export interface RawTarEntry extends TarEntry {
  readonly head: Uint8Array
}

/** The longest extended header that is read into memory. */
const metaLimitBytes = 1 << 20
/** How much may follow the end of an archive; tools pad to 10 KiB. */
const tailLimitBytes = 64 << 20

/**
 * Reads a tar archive (plain, not compressed) entry by entry, with no more than one chunk of it in memory. Reports the
 * archive as is and judges nothing: names may be absolute, links may lead outside. Damage throws ArchiveError.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<RawTarEntry, void, void> {
  const bytes = new ByteReader(source)
  try {
    let extra = new Extras()
    let head: Uint8Array[] = []
    for (;;) {
      // Copies: they are kept while later chunks are read, and a source may reuse its buffer.
      const block = (await bytes.exactly(blockBytes, 'a header')).slice()
      const raw = parseHeader(block)
      if (raw === null) return await bytes.drain(tailLimitBytes)
      head.push(block)
      if (isMeta(raw.flag)) {
        const meta = await readMeta(bytes, raw)
        head.push(meta)
        extra.add(raw.flag, meta.subarray(0, raw.size))
        continue
      }
      const entry = extra.apply(raw)
      const body = new Body(bytes, entry.size)
      yield { ...entry, head: Buffer.concat(head), body }
      extra = new Extras()
      head = []
      await body.skip()
    }
  } finally {
    await bytes.stop()
  }
}

/** The same for an archive in memory: contents are slices of it. */
export function* entriesIn(
  archive: Uint8Array,
): Generator<Omit<TarEntry, 'body'> & { readonly content: Uint8Array }, void, void> {
  let at = 0
  const take = (size: number, what: string) => {
    if (at + size > archive.length) throw new ArchiveError(`the archive ends in the middle of ${what}`)
    const bytes = archive.subarray(at, at + size)
    at += size + paddingOf(size)
    return bytes
  }
  for (let extra = new Extras(); ; ) {
    const raw = parseHeader(take(blockBytes, 'a header'))
    if (raw === null) return
    if (isMeta(raw.flag)) {
      extra.add(raw.flag, take(checkedMeta(raw), 'an extended header'))
      continue
    }
    const entry = extra.apply(raw)
    yield { ...entry, content: take(entry.size, `the contents of ${JSON.stringify(entry.name)}`) }
    extra = new Extras()
  }
}

/** A plain file of an archive in memory. */
export interface FileInTar {
  readonly name: string
  readonly content: Uint8Array
}

const plainFile = 0x30
const plainKinds: ReadonlySet<number> = new Set([plainFile, 0x32, 0x35])
const slash = 0x2f
const endBlock = new Uint8Array(blockBytes)

/**
 * The files whose names continue in one of several ways after their first `skip` bytes, in a fraction of the time of
 * reading all entries; null for an archive that must be read the other way, because it is damaged or has more than
 * plain headers. Header checksums are not verified: only for bytes that were checked before.
 */
export function plainFilesIn(archive: Uint8Array, skip: number, starts: readonly Uint8Array[]): FileInTar[] | null {
  const files: FileInTar[] = []
  for (let at = 0; at + blockBytes <= archive.length; ) {
    if (archive[at] === 0) return Buffer.compare(archive.subarray(at, at + blockBytes), endBlock) === 0 ? files : null
    const flag = archive[at + 156] ?? 0
    const size = plainOctal(archive, at + 124, at + 136)
    if (size === null || !plainKinds.has(flag) || archive[at + 345] !== 0) return null
    const from = at + blockBytes
    const end = flag === plainFile ? from + size : from
    if (flag === plainFile && starts.some((start) => startsAt(archive, at + skip, start))) {
      const name = plainText(upToNul(archive.subarray(at, at + 100)))
      if (name === null || name.charCodeAt(name.length - 1) === slash || end > archive.length) return null
      files.push({ name, content: archive.subarray(from, end) })
    }
    at = flag === plainFile ? end + paddingOf(size) : from
  }
  return null
}

function startsAt(bytes: Uint8Array, at: number, start: Uint8Array): boolean {
  for (let i = 0; i < start.length; i++) if (bytes[at + i] !== start[i]) return false
  return true
}

function checkedMeta({ size }: RawHeader): number {
  if (size <= metaLimitBytes) return size
  throw new ArchiveError(`an extended header of ${size} bytes: expected at most ${metaLimitBytes}`)
}

function isMeta(flag: string): boolean {
  return flag === 'x' || flag === 'g' || flag === 'L' || flag === 'K'
}

async function readMeta(bytes: ByteReader, raw: RawHeader): Promise<Uint8Array> {
  const size = checkedMeta(raw)
  return (await bytes.exactly(size + paddingOf(size), 'an extended header')).slice()
}

/** What extended headers say about the entry that follows them. */
class Extras {
  #pax = new Map<string, Uint8Array>()
  #name: Uint8Array | undefined
  #link: Uint8Array | undefined
  #count = 0

  add(flag: string, body: Uint8Array): void {
    // Without this, an endless series of headers would be read as part of one entry forever.
    if (++this.#count > 8) throw new ArchiveError('too many extended headers before one entry')
    if (flag === 'L') this.#name = upToNul(body)
    else if (flag === 'K') this.#link = upToNul(body)
    else if (flag === 'x') this.#pax = parsePax(body)
    else if (['path', 'linkpath', 'size'].some((key) => parsePax(body).has(key))) {
      throw new ArchiveError('one extended header names every entry of the archive')
    }
  }

  apply(raw: RawHeader): Omit<TarEntry, 'body'> {
    const name = decode(this.#pax.get('path') ?? this.#name ?? raw.name)
    const link = decode(this.#pax.get('linkpath') ?? this.#link ?? raw.link)
    const sparse = this.#pax.size > 0 && [...this.#pax.keys()].some((key) => key.startsWith('GNU.sparse.'))
    const oldStyleDir = kindOf(raw.flag) === 'file' && name.text.endsWith('/')
    const kind = sparse ? 'other' : oldStyleDir ? 'dir' : kindOf(raw.flag)
    const hasBody = kindOf(raw.flag) === 'file' || kindOf(raw.flag) === 'other'
    const isLink = kind === 'symlink' || kind === 'hardlink'
    return {
      name: name.text,
      kind,
      mode: raw.mode & 0o7777,
      size: hasBody ? this.#size(raw) : 0,
      link: isLink ? link.text : '',
      garbledName: name.garbled,
      garbledLink: isLink && link.garbled,
    }
  }

  #size(raw: RawHeader): number {
    const said = this.#pax.get('size')
    if (!said) return raw.size
    const text = Buffer.from(said).toString('latin1')
    if (!/^\d{1,15}$/.test(text))
      throw new ArchiveError(`an extended header has an unreadable size: ${JSON.stringify(text)}`)
    return Number(text)
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): { readonly text: string; readonly garbled: boolean } {
  const plain = plainText(bytes)
  if (plain !== null) return { text: plain, garbled: false }
  try {
    return { text: strict.decode(bytes), garbled: false }
  } catch {
    return { text: Buffer.from(bytes).toString('latin1'), garbled: true }
  }
}

/** Decodes most names in a fraction of the decoder's time; null for one that is long or not ASCII. */
function plainText(bytes: Uint8Array): string | null {
  if (bytes.length > 200) return null
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] ?? 0) > 0x7f) return null
  return bytes.length === 0 ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

/** The content of one entry, chunk by chunk; what its reader leaves is skipped. */
class Body implements AsyncIterable<Uint8Array> {
  #left: number
  #padding: number
  readonly #bytes: ByteReader

  constructor(bytes: ByteReader, size: number) {
    this.#bytes = bytes
    this.#left = size
    this.#padding = paddingOf(size)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    while (this.#left > 0) {
      const chunk = await this.#bytes.some(this.#left)
      this.#left -= chunk.length
      yield chunk
    }
  }

  async skip(): Promise<void> {
    for await (const _ of this);
    if (this.#padding > 0) await this.#bytes.exactly(this.#padding, 'padding')
    this.#padding = 0
  }
}

/** Reads a stream of chunks in requested amounts. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  async exactly(count: number, what: string): Promise<Uint8Array> {
    if (this.#chunk.length >= count) return this.#take(count)
    const whole = Buffer.allocUnsafe(count)
    for (let filled = 0; filled < count; ) {
      if (this.#chunk.length === 0 && !(await this.#next()))
        throw new ArchiveError(`the archive is cut off inside ${what}`)
      const part = this.#take(count - filled)
      whole.set(part, filled)
      filled += part.length
    }
    return whole
  }

  /** At least one byte and at most `count`. */
  async some(count: number): Promise<Uint8Array> {
    if (this.#chunk.length === 0 && !(await this.#next()))
      throw new ArchiveError('the archive is cut off inside a file')
    return this.#take(count)
  }

  /** Reads to the end, so that a process that writes the stream can finish. */
  async drain(limitBytes: number): Promise<void> {
    for (let seen = 0; seen <= limitBytes && (await this.#next()); ) seen += this.#chunk.length
  }

  async stop(): Promise<void> {
    await this.#source.return?.()
  }

  #take(count: number): Uint8Array {
    const part = this.#chunk.subarray(0, count)
    this.#chunk = this.#chunk.subarray(part.length)
    return part
  }

  async #next(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#source.next()
      if (done) return false
      this.#chunk = value
      if (value.length > 0) return true
    }
  }
}
