import { readdir, readlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './files.ts'
import { leadsOut } from './tree-writer.ts'

/** Removes every link below a directory that leads out of it, alone or by way of others. */
export async function dropLeavingLinks(dir: string): Promise<void> {
  const links = new Map<string, string>()
  const waiting = ['']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const entry of await listDir(join(dir, path))) {
      const name = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) waiting.push(name)
      else if (entry.isSymbolicLink()) links.set(name, await readlink(join(dir, name)))
    }
  }
  for (const path of links.keys()) if (leadsOut(path, links)) await unlink(join(dir, path))
}

async function listDir(dir: string) {
  try {
    return await readdir(dir, { withFileTypes: true })
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
