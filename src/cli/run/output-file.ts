import { realpath, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { explainDisk } from '../../app/disk-errors.ts'
import { tryToWriteIn } from '../../app/job/jobs-dir.ts'
import { UserError } from '../../core/errors.ts'
import { kindAt, writeAtomic } from '../../lib/files.ts'

/** Fails before the work, not after it, if the result cannot be written to a file. */
export async function checkOutputFile(path: string): Promise<void> {
  const kind = await explainDisk(path, () => kindAt(path))
  if (kind === 'other') return
  const refused = kind === 'dir' ? 'a directory' : await tryToWriteIn(dirname(resolve(path)))
  if (refused !== null)
    throw new UserError(`--output: expected a writable file, got ${refused}`, `choose another path than ${path}`)
}

/** Writes the output file whole; a device, pipe or terminal is written to and never replaced. */
export async function writeOutputFile(path: string, text: string): Promise<void> {
  await explainDisk(path, async () => {
    if ((await kindAt(path)) === 'other') return writeFile(path, text)
    await writeAtomic(await realpath(path).catch(() => resolve(path)), text)
  })
}
