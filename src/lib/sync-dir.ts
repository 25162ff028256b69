import { open } from 'node:fs/promises'

/** Makes changes to a directory's names (files made, renamed and removed) survive a power failure. */
export async function syncDir(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
