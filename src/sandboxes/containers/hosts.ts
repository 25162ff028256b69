import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { readTar } from '../../lib/tar-read.ts'
import { hostsMark } from './compose/names.ts'
import type { Place } from './transfer.ts'

const limitBytes = 64 * 1024

/**
 * The lines of a container's /etc/hosts, which is the engine's file and disappears with its container; without the
 * engine's lines about the container itself, whose names are `own`. Empty when they cannot be read. `path`: where the
 * engine keeps the file.
 */
export async function readHosts(place: Place, path: string | null, own: readonly string[]): Promise<readonly string[]> {
  const bytes = (path && (await readHere(path))) ?? (await readInside(place))
  const lines = bytes?.toString('utf8').replaceAll('\0', '').split('\n') ?? []
  return lines.filter((line) => line.trim() !== '' && !line.endsWith(hostsMark) && !isAbout(line, own))
}

/**
 * Reads the engine's own file if it is on this machine: it is mounted, so no program inside can replace it with a link.
 */
async function readHere(path: string): Promise<Buffer | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return null
  try {
    const stats = await file.stat()
    return stats.isFile() && stats.size <= limitBytes ? await file.readFile() : null
  } finally {
    await file.close()
  }
}

async function readInside({ engine, container }: Place): Promise<Buffer | null> {
  const archive = await engine.archive(container, '/etc/hosts').catch(() => null)
  if (archive === null) return null
  try {
    for await (const entry of readTar(archive.body)) {
      if (entry.kind !== 'file' || entry.size > limitBytes) return null
      const chunks: Uint8Array[] = []
      for await (const chunk of entry.body) chunks.push(chunk)
      return Buffer.concat(chunks)
    }
  } catch {
    // Podman unmounts a container that has just ended, even while it is being read.
  } finally {
    archive.body.destroy()
  }
  return null
}

function isAbout(line: string, names: readonly string[]): boolean {
  return line.split(/\s+/).some((word) => names.includes(word))
}
