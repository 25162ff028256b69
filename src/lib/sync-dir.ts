import { open } from 'node:fs/promises'

/** Makes what happened to the names in a directory survive a loss of power: files made, renamed and removed. */
export async function syncDir(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
