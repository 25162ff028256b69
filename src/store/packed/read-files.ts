import { hash } from 'node:crypto'
import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { TrialFile } from '../../core/trace.ts'
import { gunzipFew, gunzipIfNeeded } from '../../lib/gzip.ts'
import { ArchiveError } from '../../lib/tar.ts'
import { entriesIn, readTar, type TarEntry } from '../../lib/tar-read.ts'
import type { Member } from './index-line.ts'
import { type PackedIndex, segmentName } from './packed-index.ts'
import { readMember } from './restore.ts'

type LimitOf = (folder: TrialFile['folder'], name: string) => number | null

/** Members up to this size are read at once: a stream costs more than reading them. */
const fewBytes = 1 << 20

/** Reads chosen files of packed trials out of their members, without writing anything to disk. */
export function readPackedFiles(packedDir: string, index: PackedIndex) {
  const segments = new Map<number, Promise<FileHandle>>()
  const segmentOf = (segment: number) => {
    const file = segments.get(segment) ?? open(join(packedDir, segmentName(segment)), 'r')
    segments.set(segment, file)
    return file
  }
  return {
    async files(trialName: string, limitOf: LimitOf): Promise<TrialFile[]> {
      const member = index.trials.get(trialName)
      if (!member) throw new UserError(`${packedDir} has no finished trial ${JSON.stringify(trialName)}`, hint)
      try {
        const few = await fewBytesOf(member, segmentOf)
        if (few) return collectFew(few, trialName, limitOf)
        return await collect(gunzipIfNeeded(readMember(packedDir, member)), trialName, limitOf)
      } catch (error) {
        if (!(error instanceof ArchiveError)) throw error
        throw new BoundaryError('store', `${packedDir}: trial ${JSON.stringify(trialName)}: ${error.message}`)
      }
    },
    async close(): Promise<void> {
      for (const file of segments.values()) await (await file).close()
      segments.clear()
    },
  }
}

const hint = 'jobs show lists the trials of a job'

/** The tar of a small member; null for one that is large, or damaged: reading it as a stream says what is wrong. */
async function fewBytesOf(
  member: Member,
  segmentOf: (segment: number) => Promise<FileHandle>,
): Promise<Uint8Array | null> {
  if (member.length > fewBytes) return null
  const bytes = Buffer.allocUnsafe(member.length)
  // Blocking: so few bytes are there sooner than another thread could be asked for them.
  const bytesRead = readSync((await segmentOf(member.segment)).fd, bytes, 0, member.length, member.offset)
  const isWhole = bytesRead === member.length && hash('sha256', bytes, 'hex') === member.sha256
  return isWhole ? gunzipFew(bytes) : null
}

function collectFew(tar: Uint8Array, trial: string, limitOf: LimitOf): TrialFile[] {
  const files: TrialFile[] = []
  for (const { kind, garbled, name, size, content } of entriesIn(tar)) {
    const place = kind === 'file' && !garbled ? placeOf(name, trial) : null
    const limit = place && limitOf(place.folder, place.name)
    if (place && limit !== null) files.push({ ...place, bytes: content.subarray(0, limit), size })
  }
  return files.sort(byName)
}

async function collect(source: AsyncIterable<Uint8Array>, trial: string, limitOf: LimitOf): Promise<TrialFile[]> {
  const files: TrialFile[] = []
  for await (const entry of readTar(source)) {
    const place = entry.kind === 'file' && !entry.garbled ? placeOf(entry.name, trial) : null
    const limit = place && limitOf(place.folder, place.name)
    if (place && limit !== null) files.push({ ...place, bytes: await firstBytes(entry, limit), size: entry.size })
  }
  return files.sort(byName)
}

function byName(a: TrialFile, b: TrialFile): number {
  return a.name < b.name ? -1 : 1
}

/** `TRIAL/agent/NAME` or `TRIAL/steps/STEP/agent/NAME`, where NAME may be in an `episode-N/`; null for every other file. */
function placeOf(path: string, trial: string): Pick<TrialFile, 'step' | 'folder' | 'name'> | null {
  // Most files of a trial are its own, right in its directory.
  if (path.indexOf('/', trial.length + 1) < 0) return null
  const [root, ...rest] = path.split('/')
  const inStep = rest[0] === 'steps' && rest.length >= 4
  const [folder, ...names] = inStep ? rest.slice(2) : rest
  const isEpisode = names.length === 2 && /^episode-\d+$/.test(names[0] ?? '')
  if (root !== trial || (names.length !== 1 && !isEpisode)) return null
  const name = names.join('/')
  return folder === 'agent' || folder === 'verifier' ? { step: inStep ? (rest[1] ?? null) : null, folder, name } : null
}

async function firstBytes(entry: TarEntry, limitBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let left = limitBytes
  for await (const chunk of entry.body) {
    const part = chunk.subarray(0, left)
    left -= part.length
    // A copy when it is one of many: a small part must not keep a large chunk alive.
    parts.push(part.length === entry.size ? part : Buffer.from(part))
    if (left === 0) break
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
}
