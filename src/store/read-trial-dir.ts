import { constants, type Dirent } from 'node:fs'
import { join } from 'node:path'
import type { TrialFile } from '../core/trace.ts'
import { type Disk, patientDisk } from '../lib/disk.ts'
import { codeOf, isMissing } from '../lib/files.ts'
import { replacementName } from './trial-record.ts'

const folders = ['agent', 'verifier'] as const

/** How many bytes of a file to read at most; null to skip it. */
export type LimitOf = (folder: TrialFile['folder'], name: string) => number | null

/** The wanted files in `agent/` and `verifier/` of a trial's directory and of its steps, each up to its limit. */
export async function readTrialDir(dir: string, limitOf: LimitOf, disk: Disk = patientDisk): Promise<TrialFile[]> {
  const reader = { limitOf, disk }
  const there = await listDir(dir, disk)
  if (!there.some(isDirCalled(replacementName))) return readListed(dir, there, reader)
  const { openReplaced } = await import('./replacement.ts')
  await using whole = await openReplaced(dir)
  return readListed(whole.dir, await listDir(whole.dir, disk), reader)
}

async function readListed(dir: string, there: readonly Dirent[], reader: Reader): Promise<TrialFile[]> {
  const { disk } = reader
  const files = await readFolders({ dir, step: null }, there, reader)
  const steps = there.some(isDirCalled('steps')) ? await listDir(join(dir, 'steps'), disk) : []
  for (const step of steps.filter((entry) => entry.isDirectory())) {
    const place = { dir: join(dir, 'steps', step.name), step: step.name }
    files.push(...(await readFolders(place, await listDir(place.dir, disk), reader)))
  }
  return files
}

interface Reader {
  readonly limitOf: LimitOf
  readonly disk: Disk
}

/** Skips links in place of directories. */
async function readFolders(
  { dir, step }: { readonly dir: string; readonly step: string | null },
  there: readonly Dirent[],
  { limitOf, disk }: Reader,
): Promise<TrialFile[]> {
  const files: TrialFile[] = []
  for (const folder of folders) {
    if (!there.some(isDirCalled(folder))) continue
    const inside = await listDir(join(dir, folder), disk)
    const episodes = folder === 'agent' ? await filesOfEpisodes(join(dir, folder), inside, disk) : []
    for (const name of [...inside.map((entry) => entry.name), ...episodes]) {
      const limit = limitOf(folder, name)
      const read = limit === null ? null : await readPlainFile(join(dir, folder, name), limit, disk)
      if (read) files.push({ step, folder, name, ...read })
    }
  }
  return files
}

function isDirCalled(name: string): (entry: Dirent) => boolean {
  return (entry) => entry.name === name && entry.isDirectory()
}

/** Harbor writes the text of each turn to `episode-N/`; these are not needed when one file has them all. */
async function filesOfEpisodes(dir: string, inside: readonly Dirent[], disk: Disk): Promise<string[]> {
  if (inside.some(({ name }) => name === 'exchanges.jsonl')) return []
  const names: string[] = []
  for (const { name } of inside.filter((entry) => entry.isDirectory() && /^episode-\d+$/.test(entry.name))) {
    for (const file of await listDir(join(dir, name), disk)) names.push(`${name}/${file.name}`)
  }
  return names
}

/** The entries of a directory, by name; none if it does not exist. */
async function listDir(dir: string, disk: Disk): Promise<Dirent[]> {
  try {
    return (await disk.list(dir)).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Null for a link, and for a pipe or device, which would block a reader forever. */
async function readPlainFile(
  path: string,
  limitBytes: number,
  disk: Disk,
): Promise<Pick<TrialFile, 'bytes' | 'size'> | null> {
  const file = await openPlain(path, disk)
  if (file === null) return null
  try {
    const stats = await disk.fstat(file)
    if (!stats.isFile()) return null
    const bytes = Buffer.allocUnsafe(Math.min(stats.size, limitBytes))
    let filled = 0
    while (filled < bytes.length) {
      const bytesRead = await disk.read(file, bytes.subarray(filled))
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return { bytes: bytes.subarray(0, filled), size: stats.size }
  } finally {
    await disk.close(file)
  }
}

async function openPlain(path: string, disk: Disk): Promise<number | null> {
  try {
    return await disk.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ELOOP' || codeOf(error) === 'ENXIO' || isMissing(error)) return null
    throw error
  }
}
