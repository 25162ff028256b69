import { gunzipIfNeeded } from '../../lib/gzip.ts'
import { readTar } from '../../lib/tar-read.ts'

/** The most bytes read of one solution. */
const limit = 200_000

/** The text of all files of a task's solution, from its archive; empty when it has none. */
export async function solutionText(archive: Uint8Array): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const { kind, name, body } of readTar(gunzipIfNeeded(once(archive)))) {
    if (kind !== 'file' || !/^(?:\.\/)?(?:[^/]+\/)?solution\//.test(name)) continue
    for await (const chunk of body) {
      if (size < limit) parts.push(Uint8Array.from(chunk))
      size += chunk.length
    }
  }
  return Buffer.concat(parts).toString('utf8')
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes
}
