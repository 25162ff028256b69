import { getCurrentTest } from 'vitest/suite'

/**
 * Runs `work` without root's power to read everything; nobody's eyes, when the tests run as root. Debian's Node, which may use
 * io_uring, lets no program change users: there the test is skipped.
 */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work()
  try {
    process.seteuid?.(65534)
  } catch (error) {
    getCurrentTest()?.context.skip(String(error))
    throw error
  }
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}
