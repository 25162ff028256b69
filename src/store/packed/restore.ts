import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import { ArchiveError, type ExtractOptions, extractInto, type PackOptions } from '../../lib/tar.ts'
import type { Member } from './index-line.ts'
import { type PackedIndex, segmentName } from './packed-index.ts'

/** How a trial's files go into a member: everything unchanged, in a directory with the trial's name. */
export function memberOptions(trial: string): PackOptions {
  return { prefix: `${trial}/`, links: 'keep', special: 'skip', modes: 'kept' }
}

/**
 * Restores exactly what was packed, but the job may be untrusted: links that lead out of the trial are not restored.
 */
const restoreOptions: ExtractOptions = {
  links: 'inside',
  onRefused: 'drop',
  backslashes: 'keep',
  modes: 'kept',
  limitBytes: 2 ** 43,
  limitEntries: 10_000_000,
  // A trial holds the results of several downloads, each within the usual limit, under longer names.
  limitNameChars: 2 ** 30,
}

/**
 * Unpacks a trial and its tries set aside into `dir/<trial>`, where `dir` is an empty directory; returns how many
 * entries were left out.
 */
export async function restoreTrial(packedDir: string, index: PackedIndex, trial: string, dir: string): Promise<number> {
  const finished = index.trials.get(trial)
  const dropped = finished ? await extractMember(packedDir, finished, dir) : 0
  await mkdir(join(dir, trial), { recursive: true })
  for (const [nth, member] of index.triesOf(trial)) {
    const aside = await mkdtemp(join(dir, '.try-'))
    await extractMember(packedDir, member, aside)
    const name = `failed-${nth}.tar.gz`
    await rename(join(aside, trial, name), join(dir, trial, name))
    await rm(aside, { recursive: true })
  }
  return dropped
}

async function extractMember(packedDir: string, member: Member, dir: string): Promise<number> {
  const reader = readMember(packedDir, member)
  try {
    return (await extractInto(reader, dir, restoreOptions)).refusedCount
  } catch (error) {
    if (error instanceof ArchiveError) throw damaged(packedDir, member, error.message)
    throw error
  }
}

/** The compressed bytes of a member; throws at the end if they are not the bytes that were written. */
export async function* readMember(packedDir: string, member: Member): AsyncGenerator<Uint8Array, void, void> {
  const { segment, offset, length, sha256 } = member
  const path = join(packedDir, segmentName(segment))
  const hash = createHash('sha256')
  const bytes: AsyncIterable<Uint8Array> = createReadStream(path, { start: offset, end: offset + length - 1 })
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== sha256) throw damaged(packedDir, member, 'its bytes have changed since they were written')
}

function damaged(packedDir: string, { trial, segment, offset }: Member, why: string): BoundaryError {
  const path = join(packedDir, segmentName(segment))
  return new BoundaryError('store', `${path}: trial ${JSON.stringify(trial)} at byte ${offset} is damaged: ${why}`, {
    retryable: false,
  })
}
