import { chmodSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Gives the whole run one temporary directory, open to every user like /tmp, and removes it at the end. */
export default function setup(): () => Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
  chmodSync(root, 0o1777)
  process.env.TMPDIR = root
  return () => remove(root)
}

/**
 * Deleting through a mount that a test left would delete the mounted files. Runs in the background: vitest is still
 * waiting for its last worker to exit.
 */
async function remove(root: string): Promise<void> {
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${root}/`)
  if (mounted) throw new Error(`a test left a mount under ${root}; nothing there was removed`)
  await rm(root, { recursive: true, force: true })
}
