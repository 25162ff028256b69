import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { RepoFile } from './repository.ts'

/** The SHA-256 of a file, in hex. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** Git's object id for a file's content, in hex. */
async function gitOidFile(path: string): Promise<string> {
  const hash = createHash('sha1').update(`blob ${(await stat(path)).size}\0`)
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** Whether a local file has the same content as a repository file. */
export async function isSameContent(path: string, there: RepoFile): Promise<boolean> {
  if ((await stat(path)).size !== there.sizeBytes) return false
  if (there.sha256 !== null) return (await sha256File(path)) === there.sha256
  return there.gitOid !== null && (await gitOidFile(path)) === there.gitOid
}
