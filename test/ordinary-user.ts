import { getCurrentTest } from 'vitest/suite'

/**
 * Runs `work` as an ordinary user: as `nobody` when the tests run as root. Where Node uses io_uring, as Debian's may, it refuses to
 * change users, and the test is skipped.
 */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work()
  try {
    process.seteuid?.(65534)
  } catch (error) {
    if (String(error).includes('io_uring')) getCurrentTest()?.context.skip(String(error))
    throw error
  }
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}
