import { readTar } from '../../lib/tar-read.ts'
import { hostsMark } from './compose/names.ts'
import type { Place } from './transfer.ts'

const limitBytes = 64 * 1024

/**
 * The lines of a container's /etc/hosts, which is the engine's file and goes with its container; without what engines write about
 * the container itself, which has the names `own`. None where they cannot be read.
 */
export async function readHosts({ engine, container }: Place, own: readonly string[]): Promise<readonly string[]> {
  const archive = await engine.archive(container, '/etc/hosts').catch(() => null)
  if (archive === null) return []
  try {
    for await (const entry of readTar(archive.body)) {
      if (entry.kind !== 'file' || entry.size > limitBytes) return []
      const chunks: Uint8Array[] = []
      for await (const chunk of entry.body) chunks.push(chunk)
      const lines = Buffer.concat(chunks).toString('utf8').replaceAll('\0', '').split('\n')
      return lines.filter((line) => line.trim() !== '' && !line.endsWith(hostsMark) && !isAbout(line, own))
    }
  } catch {
    // Podman unmounts a container that has just ended, also while it is read.
  } finally {
    archive.body.destroy()
  }
  return []
}

function isAbout(line: string, names: readonly string[]): boolean {
  return line.split(/\s+/).some((word) => names.includes(word))
}
