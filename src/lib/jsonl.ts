import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing } from './files.ts'
import { readLines } from './lines.ts'
import { parseJson } from './parse-json.ts'

/** A file that only grows, with one JSON document per line. */
export interface JsonLines {
  /** Queues a line; lines reach the file in order, in batches when they come fast. Never throws. */
  append(value: unknown): void
  /** The same for a document that is already text. */
  appendText(line: string): void
  /** Waits until everything queued is in the file; rejects with the first error. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Opens a file for appending, made with its directory if missing. A line that a crash cut short is ended first. */
export async function openJsonLines(path: string): Promise<JsonLines> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+', 0o644)
  let waiting = (await endsInsideLine(file)) ? '\n' : ''
  let writing = Promise.resolve()
  let scheduled = false
  const write = async () => {
    scheduled = false
    const text = waiting
    waiting = ''
    if (text !== '') await file.appendFile(text)
  }
  const flush = async () => {
    if (waiting !== '' && !scheduled) schedule()
    await writing
  }
  const schedule = () => {
    scheduled = true
    writing = writing.then(write)
    // The caller that flushes or closes gets the error.
    writing.catch(() => {})
  }
  const appendText = (line: string) => {
    waiting += `${line}\n`
    if (!scheduled) schedule()
  }
  return {
    append: (value) => appendText(JSON.stringify(value)),
    appendText,
    flush,
    async close() {
      try {
        await flush()
      } finally {
        await file.close()
      }
    },
  }
}

/** A value as one line of JSON in which `mask` was applied to every text, including field names. */
export function maskedJson(value: unknown, mask: (text: string) => string): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === 'string') return mask(item)
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    const entries = Object.entries(item)
    return entries.some(([key]) => mask(key) !== key)
      ? Object.fromEntries(entries.map(([key, inner]) => [mask(key), inner]))
      : item
  })
}

/** The documents of such a file, in order; lines that are not JSON, such as one cut short by a crash, are skipped. */
export async function* readJsonLines(path: string): AsyncGenerator<unknown, void, void> {
  try {
    for await (const { text } of readLines(path)) {
      const value = parseJson(text)
      if (value !== undefined) yield value
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function endsInsideLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat()
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== 10
}
