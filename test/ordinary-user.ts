import { TestRunner } from 'vitest'

/**
 * Runs `work` as an ordinary user: `nobody` if the tests run as root. A Node that may use io_uring, such as Debian's,
 * cannot change users; the test is skipped there.
 */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work()
  try {
    process.seteuid?.(65534)
  } catch (error) {
    if (String(error).includes('io_uring')) TestRunner.getCurrentTest()?.context.skip(String(error))
    throw error
  }
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}
