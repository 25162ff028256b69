import { getCurrentTest } from 'vitest/suite'

/**
 * Runs `work` without root's power to read everything: as the user `nobody` when the tests run as root. Debian's Node may use
 * io_uring and then refuses to change users: there the test is skipped.
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
