import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { draftBeside, removeDraft } from '../../lib/drafts.ts'

/** Bytes on their way into a segment: in memory if small, otherwise in a temporary file. */
export interface Payload {
  readonly length: number
  readonly sha256: string
  chunks(): AsyncIterable<Uint8Array>
  discard(): Promise<void>
}

const memoryLimitBytes = 4 << 20

/** Collects a stream; what is too large for memory goes to a file in `spillDir`. */
export async function collectPayload(source: AsyncIterable<Uint8Array>, spillDir: string): Promise<Payload> {
  const hash = createHash('sha256')
  const spill = new Spill(spillDir)
  let chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of source) {
      hash.update(chunk)
      chunks.push(chunk)
      length += chunk.length
      if (length <= memoryLimitBytes) continue
      await spill.write(chunks)
      chunks = []
    }
    if (spill.used) await spill.write(chunks)
    await spill.close()
  } catch (error) {
    await spill.discard()
    throw error
  }
  const sha256 = hash.digest('hex')
  return { length, sha256, chunks: () => (spill.used ? spill.chunks() : each(chunks)), discard: () => spill.discard() }
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, void> {
  yield* chunks
}

class Spill {
  readonly #dir: string
  #path = ''
  #file: FileHandle | undefined
  used = false

  constructor(dir: string) {
    this.#dir = dir
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    if (!this.#file) {
      await mkdir(this.#dir, { recursive: true })
      this.#path = draftBeside(join(this.#dir, 'member'))
      this.#file = await open(this.#path, 'wx')
      this.used = true
    }
    for (const chunk of chunks) await this.#file.writeFile(chunk)
  }

  chunks(): AsyncIterable<Uint8Array> {
    return createReadStream(this.#path, { highWaterMark: 1 << 20 })
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  async discard(): Promise<void> {
    await this.close()
    if (this.used) await removeDraft(this.#path)
  }
}
