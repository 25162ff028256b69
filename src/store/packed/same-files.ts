import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipFew, gunzipIfNeeded } from '../../lib/gzip.ts'
import { tarDir, tarFew } from '../../lib/tar.ts'
import type { Member } from './index-line.ts'
import { type PackedIndex, segmentName } from './packed-index.ts'
import { memberOptions, readMember } from './restore.ts'

/** Whether a trial's directory holds exactly what is packed under its name. Blocks the process while it reads small files. */
export async function hasSameFiles(
  dir: string,
  trial: string,
  packedDir: string,
  index: PackedIndex,
): Promise<boolean> {
  const member = index.trials.get(trial)
  if (!member) return false
  const tries = new Set([...index.triesOf(trial).keys()].map((nth) => `failed-${nth}.tar.gz`))
  const filter = ({ path }: { path: string }) => !tries.has(path)
  const options = { ...memberOptions(trial), filter }
  const packed = fewOf(packedDir, member)
  const there = packed && tarFew(dir, options)
  if (there) return Buffer.compare(there, packed) === 0
  return (await digest(tarDir(dir, options))) === (await digest(tarOf(packedDir, member, packed)))
}

/** The tar of a small member; null for one that is large or damaged. */
function fewOf(packedDir: string, member: Member): Uint8Array | null {
  return member.length <= fewBytes ? gunzipFew(readFew(packedDir, member)) : null
}

/** A damaged or large member is read as a stream, which reports what is wrong with it. */
async function* tarOf(
  packedDir: string,
  member: Member,
  few: Uint8Array | null,
): AsyncGenerator<Uint8Array, void, void> {
  if (few) yield few
  else yield* gunzipIfNeeded(readMember(packedDir, member))
}

const fewBytes = 1 << 20

function readFew(packedDir: string, { segment, offset, length }: Member): Uint8Array {
  const bytes = Buffer.alloc(length)
  const file = openSync(join(packedDir, segmentName(segment)), 'r')
  try {
    for (let at = 0; at < length; ) {
      const read = readSync(file, bytes, at, length - at, offset + at)
      if (read === 0) break
      at += read
    }
  } finally {
    closeSync(file)
  }
  return bytes
}

async function digest(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}
