import { constants, type Stats } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrialFile } from '../core/trace.ts'
import { codeOf, isMissing } from '../lib/files.ts'

const folders = ['agent', 'verifier'] as const

/** How many bytes of a file are wanted at most; null when it is not wanted at all. */
export type LimitOf = (folder: TrialFile['folder'], name: string) => number | null

/** The wanted files of `agent/` and `verifier/` of a trial's directory and of its steps, from their beginning to their limit. */
export async function readTrialDir(dir: string, limitOf: LimitOf): Promise<TrialFile[]> {
  const files = await readFolders(dir, null, limitOf)
  for (const step of await namesIn(join(dir, 'steps'))) {
    files.push(...(await readFolders(join(dir, 'steps', step), step, limitOf)))
  }
  return files
}

async function readFolders(dir: string, step: string | null, limitOf: LimitOf): Promise<TrialFile[]> {
  const files: TrialFile[] = []
  for (const folder of folders) {
    const names = await namesIn(join(dir, folder))
    for (const name of [...names, ...(await namesInEpisodes(join(dir, folder), names, limitOf))]) {
      const limit = limitOf(folder, name)
      const read = limit === null ? null : await readPlainFile(join(dir, folder, name), limit)
      if (read) files.push({ step, folder, name, ...read })
    }
  }
  return files
}

/** Harbor leaves the words of each turn in `episode-N/`; who has them all in one file needs no others. */
async function namesInEpisodes(dir: string, names: readonly string[], limitOf: LimitOf): Promise<string[]> {
  const isAgents = dir.endsWith('/agent') && !names.includes('exchanges.jsonl')
  const wanted = names.filter((name) => isAgents && /^episode-\d+$/.test(name))
  const found = await Promise.all(
    wanted.map(async (name) => (await namesIn(join(dir, name))).map((file) => `${name}/${file}`)),
  )
  return found.flat().filter((name) => limitOf('agent', name) !== null)
}

/** The names in a real directory, sorted; none where there is no such directory or a link in its place. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    const stats: Stats = await lstat(dir)
    return stats.isDirectory() ? (await readdir(dir)).sort() : []
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Null for a link, and for a pipe or device, on which a reader would wait for ever. */
async function readPlainFile(path: string, limitBytes: number): Promise<Pick<TrialFile, 'bytes' | 'size'> | null> {
  const file = await openPlain(path)
  if (file === null) return null
  try {
    const stats = await file.stat()
    if (!stats.isFile()) return null
    const bytes = Buffer.allocUnsafe(Math.min(stats.size, limitBytes))
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return { bytes: bytes.subarray(0, filled), size: stats.size }
  } finally {
    await file.close()
  }
}

async function openPlain(path: string) {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ELOOP' || codeOf(error) === 'ENXIO' || isMissing(error)) return null
    throw error
  }
}
