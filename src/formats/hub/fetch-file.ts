import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { BoundaryError, isAbort, messageOf, UserError } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import { isSameContent } from './digests.ts'
import type { DatasetRepository, RepoFile } from './repository.ts'

/** How many attempts in a row may fail without receiving any bytes. */
const triesWithoutProgress = 4

export interface FetchFile {
  readonly repository: DatasetRepository
  readonly commit: string
  readonly file: RepoFile
  /** The destination; the file appears there whole, with the expected content, or not at all. */
  readonly to: string
  readonly signal: AbortSignal
  readonly onBytes?: (bytes: number) => void
}

/** Fetches one file, continuing a partial one; true if it already existed. */
export async function fetchFile(ask: FetchFile): Promise<boolean> {
  const { file, to, repository, signal } = ask
  if ((await sizeOf(to)) !== null && (await isSameContent(to, file))) return true
  await mkdir(dirname(to), { recursive: true })
  const part = join(dirname(to), `.${basename(to)}.part`)
  let fruitless = 0
  let last: unknown
  while (fruitless < triesWithoutProgress) {
    signal.throwIfAborted()
    const before = (await sizeOf(part)) ?? 0
    if (before > file.sizeBytes) await rm(part)
    else if (before < file.sizeBytes || before === 0) last = await goOn(ask, part, before)
    const now = (await sizeOf(part)) ?? 0
    if (now === file.sizeBytes && (await isSameContent(part, file))) {
      await rename(part, to)
      return false
    }
    if (now >= file.sizeBytes) await rm(part, { force: true })
    if (now <= before || now >= file.sizeBytes) fruitless++
  }
  const why = last === undefined ? 'its content does not match its digest' : messageOf(last)
  throw new BoundaryError('store', `${repository.name}/${file.path}: could not be fetched completely: ${why}`, {
    ...{ code: 'HubDownloadFailed', retryable: true, cause: last },
  })
}

/** Appends received data to the partial file; returns the error that interrupted it, or undefined. */
async function goOn(
  { repository, commit, file, signal, onBytes }: FetchFile,
  part: string,
  from: number,
): Promise<unknown> {
  const { fromByte, body } = await repository.read(commit, file.path, from)
  const handle = await open(part, fromByte === 0 ? 'w' : 'a')
  let written = fromByte
  try {
    for await (const chunk of body) {
      signal.throwIfAborted()
      written += chunk.length
      // A server that sends more than announced may never stop.
      if (written > file.sizeBytes) break
      await handle.writeFile(chunk)
      onBytes?.(chunk.length)
    }
    await handle.sync()
    return undefined
  } catch (error) {
    if (isAbort(error) || signal.aborted || error instanceof UserError) throw error
    return error
  } finally {
    await handle.close()
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
