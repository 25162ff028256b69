import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { RepoFile } from './repository.ts'

/** SHA-256 of a file, hex. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** What git names a file's content by, hex. */
async function gitOidFile(path: string): Promise<string> {
  const hash = createHash('sha1').update(`blob ${(await stat(path)).size}\0`)
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** Whether a file here has the content of a file there. */
export async function isSameContent(path: string, there: RepoFile): Promise<boolean> {
  if ((await stat(path)).size !== there.sizeBytes) return false
  if (there.sha256 !== null) return (await sha256File(path)) === there.sha256
  return there.gitOid !== null && (await gitOidFile(path)) === there.gitOid
}
