import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sleep } from '../../lib/deadline.ts'
import { codeOf } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { identitySchema, livenessOf, markedOurselves } from '../../lib/process-identity.ts'

const lookAgainMs = 200

/**
 * Keeps other processes on this machine from building the same image at the same time; a dead process's lock is
 * ignored.
 */
export async function withBuildLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true })
  while (!(await take(path))) {
    await sleep(lookAgainMs, signal)
    if (await isStale(path)) await rm(path, { force: true })
  }
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.writeFile(JSON.stringify(markedOurselves()))
    await file.close()
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** A lock that cannot be read is just being written, or its writer died while writing it: then it stays unreadable. */
async function isStale(path: string): Promise<boolean> {
  const read = async () => identitySchema.safeParse(parseJson(await readFile(path, 'utf8').catch(() => '')))
  const first = await read()
  if (first.success) return livenessOf(first.data) === 'dead'
  await sleep(lookAgainMs * 5)
  return !(await read()).success
}
