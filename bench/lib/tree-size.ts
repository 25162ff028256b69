import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The space a tree takes in a file system. */
export interface TreeSize {
  readonly inodes: number
  readonly files: number
  /** The sum of file lengths. */
  readonly bytes: number
  /** Disk usage. */
  readonly blocks: number
  /** Entries in the directory that has the most. */
  readonly mostEntries: number
}

/** Counts everything below a directory, but not the directory itself. */
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
