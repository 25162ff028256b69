import { createHash } from 'node:crypto'
import { gunzipIfNeeded } from '../../lib/gzip.ts'
import { tarDir } from '../../lib/tar.ts'
import type { PackedIndex } from './packed-index.ts'
import { memberOptions, readMember } from './restore.ts'

/** Whether a trial's directory holds exactly what is packed under its name. */
export async function hasSameFiles(
  dir: string,
  trial: string,
  packedDir: string,
  index: PackedIndex,
): Promise<boolean> {
  const member = index.trials.get(trial)
  if (!member) return false
  const tries = new Set([...index.triesOf(trial).keys()].map((nth) => `failed-${nth}.tar.gz`))
  const options = { ...memberOptions(trial), filter: ({ path }: { path: string }) => !tries.has(path) }
  return (await digest(tarDir(dir, options))) === (await digest(gunzipIfNeeded(readMember(packedDir, member))))
}

async function digest(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}
