import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { RewardFiles } from '../../core/rewards.ts'
import { codeOf, isMissing } from '../../lib/files.ts'

const limitBytes = 1024 * 1024

/** Reads the reward files of a downloaded `/logs/verifier`: only regular files, never through a link, never a huge one. */
export async function readRewardFiles(verifierDir: string): Promise<RewardFiles> {
  const [txt, json] = await Promise.all(['reward.txt', 'reward.json'].map((name) => readSmallFile(verifierDir, name)))
  return { txt: txt ?? null, json: json ?? null }
}

async function readSmallFile(dir: string, name: string): Promise<string | null> {
  const file = await open(join(dir, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      if (isMissing(error)) return null
      if (codeOf(error) === 'ELOOP') throw refused(name, 'a link')
      throw error
    },
  )
  if (file === null) return null
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw refused(name, 'not a regular file')
    if (stats.size > limitBytes) throw refused(name, `${stats.size} bytes, more than ${limitBytes}`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function refused(name: string, why: string): BoundaryError {
  return new BoundaryError('verifier', `/logs/verifier/${name} is ${why}`, {
    code: 'VerifierOutputParseError',
    retryable: false,
  })
}
