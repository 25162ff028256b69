import { gunzipFew, gunzipIfNeeded } from '../../lib/gzip.ts'
import { ArchiveError } from '../../lib/tar-format.ts'
import { readTar } from '../../lib/tar-read.ts'

/** How much of an archive is read before giving up: a few bytes can expand to very many. */
const mostBytes = 64 << 20

/**
 * Texts in a hostile tar or tar.gz by path, each up to `limitBytes`. Stops once all are found; a damaged archive gives
 * what came before the damage.
 */
export async function archiveTexts(
  archive: Uint8Array,
  paths: readonly string[],
  limitBytes: number,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const few = gunzipFew(archive)
  const tar = few === null ? gunzipIfNeeded(only(archive)) : only(few)
  try {
    for await (const { name, kind, size, body } of readTar(capped(tar))) {
      const path = name.replace(/^(\.\/)+/, '')
      if (kind !== 'file' || !paths.includes(path)) continue
      found.set(path, await textOf(body, Math.min(size, limitBytes)))
      if (found.size === paths.length) break
    }
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
  }
  return found
}

async function textOf(body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    if (bytes >= limitBytes) continue
    chunks.push(chunk.slice(0, limitBytes - bytes))
    bytes += chunk.length
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes
}

async function* capped(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let left = mostBytes
  for await (const chunk of source) {
    left -= chunk.length
    if (left < 0) throw new ArchiveError('the archive is too large')
    yield chunk
  }
}
