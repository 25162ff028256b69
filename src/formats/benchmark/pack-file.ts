import { createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { signatureSize } from '../../lib/minhash.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { Pack, PackedText } from './pack.ts'

/** The first line of a pack. */
const headerSchema = z.object({
  schema: z.string(),
  benchmark: z.string(),
  title: z.string(),
  tasks: z.int().positive(),
  words: z.int().min(1).max(255),
  runs: z.int().nonnegative(),
  source: z.string(),
  licence: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
})

/** A pack's metadata: its first line, in JSON. */
export type PackHeader = z.output<typeof headerSchema>

/** The file extension of packs. */
export const packEnding = '.pack'
const packSchema = 'benchmark-pack/1'
const maxHeaderBytes = 64 << 10

/** Renders a pack file: the header as a line of JSON, then tasks, then runs. The same pack gives the same bytes. */
export function renderPack(pack: Pack, about: Pick<PackHeader, 'title' | 'source' | 'licence'>): Buffer {
  const out = new ByteWriter()
  for (const { id, size, digest, signature } of pack.tasks) {
    const name = Buffer.from(id)
    out.number(name.length)
    out.bytes(name)
    out.number(size)
    out.bytes(Buffer.from(digest, 'hex'))
    out.bytes(halfBytes(signature))
  }
  let before = 0
  for (const [i, key] of pack.keys.entries()) {
    out.number(key - before)
    out.word(pack.tags[i] ?? 0)
    out.number(pack.owners[i] ?? 0)
    before = key
  }
  const body = out.done()
  const facts = {
    schema: packSchema,
    benchmark: pack.benchmark,
    title: about.title,
    tasks: pack.tasks.length,
    words: pack.words,
    runs: pack.keys.length,
    source: about.source,
    licence: about.licence,
    bytes: body.length,
  }
  const header: PackHeader = { ...facts, sha256: digestOf(facts, body) }
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body])
}

/**
 * Reads only the first line of a pack; a file that is no pack, or whose length does not match its header, is a
 * UserError.
 */
export async function readPackHeader(file: string): Promise<PackHeader> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxHeaderBytes), 0, maxHeaderBytes, 0)
    const { header, bodyAt } = parseHeader(buffer.subarray(0, bytesRead), file)
    const { size } = await handle.stat()
    if (size !== bodyAt + header.bytes) throw damaged(file, `expected ${bodyAt + header.bytes} bytes, found ${size}`)
    return header
  } finally {
    await handle.close()
  }
}

/** Reads a whole pack; a damaged or truncated one is a UserError. */
export async function loadPack(file: string): Promise<{ readonly header: PackHeader; readonly pack: Pack }> {
  return parsePack(await readFile(file), file)
}

/** Parses a pack's bytes; `file` is for messages. */
export function parsePack(bytes: Buffer, file: string): { readonly header: PackHeader; readonly pack: Pack } {
  const { header, bodyAt } = parseHeader(bytes.subarray(0, maxHeaderBytes), file)
  const body = bytes.subarray(bodyAt)
  if (body.length !== header.bytes)
    throw damaged(file, `expected ${bodyAt + header.bytes} bytes, found ${bytes.length}`)
  const { sha256, ...facts } = header
  if (digestOf(facts, body) !== sha256) throw damaged(file, 'its content does not match its digest')
  const input = new ByteReader(body, (why) => damaged(file, why))
  const tasks = Array.from({ length: header.tasks }, () => readTask(input))
  const [keys, tags, owners] = [0, 1, 2].map(() => new Uint32Array(header.runs)) as [Runs, Runs, Runs]
  let key = 0
  for (let i = 0; i < header.runs; i++) {
    key += input.number()
    keys[i] = key
    tags[i] = input.word()
    owners[i] = input.number()
    if (key >= 2 ** 24 || (owners[i] ?? 0) >= tasks.length) throw damaged(file, `sequence ${i} belongs to no task`)
  }
  if (!input.isDone()) throw damaged(file, 'it contains more than it declares')
  return { header, pack: { benchmark: header.benchmark, words: header.words, tasks, keys, tags, owners } }
}

/** The digest also covers the metadata: with a different number of words nothing would be found. */
function digestOf(facts: Omit<PackHeader, 'sha256'>, body: Buffer): string {
  return createHash('sha256').update(JSON.stringify(facts)).update(body).digest('hex')
}

type Runs = Uint32Array<ArrayBuffer>

function readTask(input: ByteReader): PackedText {
  const id = input.bytes(input.number()).toString()
  const size = input.number()
  const digest = input.bytes(8).toString('hex')
  const signature = new Uint16Array(signatureSize)
  for (const [i, byte] of input.bytes(signatureSize / 2).entries()) {
    signature[2 * i] = byte & 15
    signature[2 * i + 1] = byte >>> 4
  }
  return { id, size, digest, signature }
}

function halfBytes(signature: Uint16Array): Buffer {
  return Buffer.from(
    Array.from(
      { length: signature.length / 2 },
      (_, i) => (signature[2 * i] ?? 0) | ((signature[2 * i + 1] ?? 0) << 4),
    ),
  )
}

function parseHeader(start: Buffer, file: string): { header: PackHeader; bodyAt: number } {
  const end = start.indexOf(10)
  const document = end < 0 ? undefined : parseJson(start.toString('utf8', 0, end))
  const schema: unknown = Object(document).schema
  if (typeof schema !== 'string' || !schema.startsWith('benchmark-pack/'))
    throw new UserError(
      `${file}: expected a decontamination pack, found something else`,
      'ot-agent benchmarks pack builds one',
    )
  if (schema !== packSchema)
    throw new UserError(
      `${file}: expected a pack of format ${packSchema}, found ${JSON.stringify(schema.slice(0, 40))}`,
      'build it again with this version: ot-agent benchmarks pack',
    )
  const parsed = headerSchema.safeParse(document)
  if (!parsed.success) throw damaged(file, `its header is not valid: ${parsed.error.issues[0]?.path.join('.')}`)
  return { header: parsed.data, bodyAt: end + 1 }
}

function damaged(file: string, why: string): UserError {
  return new UserError(
    `${file}: the pack is damaged: ${why}`,
    'get it again, or build it with ot-agent benchmarks pack',
  )
}

class ByteWriter {
  private buffer = Buffer.alloc(1 << 16)
  private length = 0

  /** Writes an integer, using fewer bytes for small ones. */
  number(value: number): void {
    this.reserve(5)
    let rest = value
    for (; rest >= 128; rest >>>= 7) this.buffer[this.length++] = (rest & 127) | 128
    this.buffer[this.length++] = rest
  }

  /** Writes four bytes. */
  word(value: number): void {
    this.reserve(4)
    this.length = this.buffer.writeUInt32LE(value, this.length)
  }

  bytes(bytes: Buffer): void {
    this.reserve(bytes.length)
    this.length += bytes.copy(this.buffer, this.length)
  }

  done(): Buffer {
    return this.buffer.subarray(0, this.length)
  }

  private reserve(more: number): void {
    if (this.length + more <= this.buffer.length) return
    this.buffer = Buffer.concat([this.buffer], (this.length + more) * 2)
  }
}

class ByteReader {
  private at = 0
  constructor(
    private readonly buffer: Buffer,
    private readonly damaged: (why: string) => UserError,
  ) {}

  number(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.buffer[this.at++]
      if (byte === undefined) throw this.damaged('it ends too early')
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
    throw this.damaged('a number is too long')
  }

  word(): number {
    if (this.at + 4 > this.buffer.length) throw this.damaged('it ends too early')
    this.at += 4
    return this.buffer.readUInt32LE(this.at - 4)
  }

  bytes(length: number): Buffer {
    if (this.at + length > this.buffer.length) throw this.damaged('it ends too early')
    this.at += length
    return this.buffer.subarray(this.at - length, this.at)
  }

  isDone(): boolean {
    return this.at === this.buffer.length
  }
}
