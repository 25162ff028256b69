import { mkdir, writeFile } from 'node:fs/promises'
import { explainDisk } from '../app/disk-errors.ts'
import { UserError } from '../core/errors.ts'
import { exists } from '../lib/files.ts'

/** Writes a new file and creates its folder; never overwrites a file. */
export async function writeNew(dir: string, file: string, text: string): Promise<void> {
  await explainDisk(file, async () => {
    if (await exists(file))
      throw new UserError(`${file}: expected a new path, but it already exists`, 'choose another name or --path')
    await mkdir(dir, { recursive: true })
    await writeFile(file, text, { flag: 'wx' })
  })
}
