import type { Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** How much disk a file or a tree takes; what cannot be looked into counts nothing. */
export async function diskBytesOf(path: string): Promise<number> {
  const linked = new Set<string>()
  const waiting = [path]
  let bytes = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const stats = await lstat(at).catch(() => null)
    if (stats === null || isKnown(stats, linked)) continue
    bytes += stats.blocks * 512
    if (!stats.isDirectory()) continue
    const dir = at
    const names = await readdir(dir).catch((): string[] => [])
    for (const name of names) waiting.push(join(dir, name))
  }
  return bytes
}

/** A file with several names takes its room once. */
function isKnown(stats: Stats, linked: Set<string>): boolean {
  if (stats.isDirectory() || stats.nlink < 2) return false
  const name = `${stats.dev}-${stats.ino}`
  if (linked.has(name)) return true
  linked.add(name)
  return false
}
