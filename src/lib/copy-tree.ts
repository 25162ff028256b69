import { chmod, copyFile, link, mkdir, readdir, readlink, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Copies the contents of a directory that nothing else is changing over another; modes are kept and links stay links. */
export async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name)
    const to = join(target, entry.name)
    if (entry.isDirectory()) {
      await copyTree(from, to)
      await chmod(to, (await stat(from)).mode & 0o7777)
    } else if (entry.isSymbolicLink()) {
      await rm(to, { force: true })
      await symlink(await readlink(from), to)
    } else if (entry.isFile()) await copyFile(from, to)
  }
}

/** The same with hard links in the place of copies, for files that are never changed where they lie; copies where links are not possible. */
export async function linkTree(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await linkTree(from, to)
    else if (entry.isFile()) await link(from, to).catch(() => copyFile(from, to))
  }
}
