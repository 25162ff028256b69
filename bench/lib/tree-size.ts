import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** How much a tree takes of a file system. */
export interface TreeSize {
  readonly inodes: number
  readonly files: number
  /** As files are long. */
  readonly bytes: number
  /** As the disk is used. */
  readonly blocks: number
  /** Entries of the directory that has most. */
  readonly mostEntries: number
}

/** Counts what is below a directory; the directory itself is not counted. */
export function treeOf(dir: string): TreeSize {
  const size = { inodes: 0, files: 0, bytes: 0, blocks: 0, mostEntries: 0 }
  const walk = (at: string) => {
    const names = readdirSync(at)
    size.mostEntries = Math.max(size.mostEntries, names.length)
    for (const name of names) {
      const path = join(at, name)
      const found = lstatSync(path)
      size.inodes++
      size.blocks += found.blocks * 512
      if (found.isDirectory()) walk(path)
      else {
        size.files++
        size.bytes += found.size
      }
    }
  }
  walk(dir)
  return size
}
