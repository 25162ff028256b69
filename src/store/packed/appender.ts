import { constants, type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../lib/files.ts'
import { syncDir } from '../../lib/sync-dir.ts'
import { headLine, type IndexLine, type Member, renderIndexLine } from './index-line.ts'
import { type PackedIndex, segmentName } from './packed-index.ts'
import type { Payload } from './payload.ts'

/** The contents of one index line before its place is known. */
export type Addition =
  | { readonly kind: 'trial'; readonly trial: string; readonly payload: Payload; readonly recordText: string }
  | { readonly kind: 'failed-try'; readonly trial: string; readonly payload: Payload; readonly nth: number }
  | { readonly kind: 'forget'; readonly trial: string }

interface Waiting {
  readonly additions: readonly Addition[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * The only writer of a packed store. It first writes and syncs the bytes in the segment, then writes and syncs the
 * index lines that name them, and only then answers the call. Calls that arrive while a batch is being written form the
 * next batch and share its syncs.
 */
export class Appender {
  readonly #dir: string
  readonly #index: PackedIndex
  readonly #rollBytes: number
  readonly #segments = new Map<number, FileHandle>()
  #indexFile: FileHandle | undefined
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #broken: unknown

  /** `index` must match the files: the caller has already cut off what a crash left. */
  constructor(dir: string, index: PackedIndex, rollBytes: number) {
    this.#dir = dir
    this.#index = index
    this.#rollBytes = rollBytes
  }

  /** Makes additions durable, all or none. */
  append(additions: readonly Addition[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ additions, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  async close(): Promise<void> {
    await this.#running
    for (const file of [...this.#segments.values(), this.#indexFile]) await file?.close()
    this.#segments.clear()
    this.#indexFile = undefined
  }

  async #run(): Promise<void> {
    // Lets calls made in the same turn join the first batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        if (this.#broken !== undefined) throw this.#broken
        await this.#write(batch.flatMap(({ additions }) => additions))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#running = undefined
  }

  async #write(additions: readonly Addition[]): Promise<void> {
    const start = this.#index.bytes
    try {
      await this.#writeLines(await this.#writeMembers(additions, start), start)
    } catch (error) {
      await this.#takeBack(start, error)
      throw error
    }
    await this.#closeFull()
  }

  /** Writes the bytes of a batch, in order, and syncs the segments they went to. */
  async #writeMembers(additions: readonly Addition[], batch: number): Promise<WrittenLine[]> {
    const ends = new Map(this.#index.segmentBytes)
    const lines: WrittenLine[] = []
    const touched = new Set<number>()
    for (const addition of additions) {
      if (addition.kind === 'forget') {
        lines.push({ line: { kind: 'forget', batch, trial: addition.trial }, recordText: null })
        continue
      }
      const member = await this.#writeMember(addition, ends)
      touched.add(member.segment)
      lines.push(
        addition.kind === 'trial'
          ? { line: { kind: 'trial', batch, ...member }, recordText: addition.recordText }
          : { line: { kind: 'failed-try', batch, ...member, nth: addition.nth }, recordText: null },
      )
    }
    for (const segment of touched) await this.#segments.get(segment)?.datasync()
    return lines
  }

  async #writeMember(
    { trial, payload }: { readonly trial: string; readonly payload: Payload },
    ends: Map<number, number>,
  ): Promise<Member> {
    const last = Math.max(this.#index.firstOpenSegment, ...ends.keys())
    const segment = (ends.get(last) ?? 0) >= this.#rollBytes ? last + 1 : last
    const offset = ends.get(segment) ?? 0
    const file = await this.#segment(segment)
    let at = offset
    for await (const chunk of payload.chunks()) {
      await writeAll(file, chunk, at)
      at += chunk.length
    }
    ends.set(segment, at)
    return { trial, segment, offset, length: payload.length, sha256: payload.sha256 }
  }

  async #writeLines(lines: readonly WrittenLine[], start: number): Promise<void> {
    const file = await this.#openIndex()
    const head = start === 0 ? headLine : ''
    const texts = lines.map(({ line, recordText }) => renderIndexLine(line, recordText))
    await writeAll(file, Buffer.from(head + texts.join('')), start)
    await file.datasync()
    let at = start + Buffer.byteLength(head)
    for (const [i, { line }] of lines.entries()) {
      const end = at + Buffer.byteLength(texts[i] ?? '')
      this.#index.apply(line, at, end)
      at = end
    }
    this.#index.bytes = at
  }

  /** After a failed write the files must end where the index says; if even that fails, nothing more may be appended. */
  async #takeBack(indexStart: number, reason: unknown): Promise<void> {
    // After a failed sync it is unknown what the disk has kept.
    if (codeOf(reason) === 'EIO') this.#broken = reason
    try {
      await this.#indexFile?.truncate(indexStart)
      for (const [segment, file] of this.#segments) await file.truncate(this.#index.segmentBytes.get(segment) ?? 0)
    } catch (error) {
      this.#broken = error
    }
  }

  async #segment(segment: number): Promise<FileHandle> {
    const open = this.#segments.get(segment)
    if (open) return open
    const file = await openDurably(this.#dir, segmentName(segment))
    this.#segments.set(segment, file)
    return file
  }

  /** Only after a batch: until then its segments still have to be synced or cut back. */
  async #closeFull(): Promise<void> {
    const last = Math.max(...this.#segments.keys())
    for (const [number, file] of this.#segments) {
      if (number === last) continue
      this.#segments.delete(number)
      await file.close()
    }
  }

  async #openIndex(): Promise<FileHandle> {
    this.#indexFile ??= await openDurably(this.#dir, 'index.jsonl')
    return this.#indexFile
  }
}

interface WrittenLine {
  readonly line: IndexLine
  readonly recordText: string | null
}

/** Opens a file for positional writes; if it is new, syncs its name into the directory too. */
async function openDurably(dir: string, name: string): Promise<FileHandle> {
  const file = await open(join(dir, name), constants.O_WRONLY | constants.O_CREAT, 0o644)
  await syncDir(dir)
  return file
}

async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten
  }
}
