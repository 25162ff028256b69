import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import type { StageCount } from '../../core/recipe.ts'
import { draftOf, removeDraft } from '../../lib/drafts.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'

const countSchema = z.strictObject({
  id: z.string(),
  use: z.string(),
  taken: z.number(),
  given: z.number(),
  drops: z.record(z.string(), z.number()),
})
const fileSchema = z.strictObject({ bytes: z.number(), sha256: z.string() })
/** Rows that stay in another shard's file: that file, its digest, and a 1 or 0 for each of its rows. */
const keptSchema = z.strictObject({ of: z.string(), sha256: z.string(), rows: z.string().regex(/^[01]*$/) })
const markSchema = z.strictObject({
  schema: z.literal('shard/1'),
  rows: z.number(),
  counts: z.array(countSchema),
  part: z.union([fileSchema, keptSchema]),
  rejects: fileSchema,
})
type Mark = z.output<typeof markSchema>

/** A finished shard: its rows in order, and the rejects. */
export interface Shard {
  readonly index: number
  readonly rows: number
  readonly counts: readonly StageCount[]
  readonly part: string
  /** Which rows of the part belong to the shard, a 1 or 0 for each; null means all. */
  readonly kept: string | null
  readonly rejects: string
}

/** What was written for a shard. With `kept` there is no part: its rows are some or all of another shard's file. */
export interface Written {
  readonly rows: number
  readonly counts: readonly StageCount[]
  readonly kept?: { readonly of: string; readonly rows: string }
}

/** Where the files of a shard are. */
function shardFiles(dir: string, index: number): { part: string; rejects: string; mark: string } {
  const number = String(index).padStart(5, '0')
  return {
    part: join(dir, `part-${number}.parquet`),
    rejects: join(dir, `rejects-${number}.parquet`),
    mark: join(dir, `part-${number}.done`),
  }
}

/**
 * Has `write` fill both files of a shard under temporary names, then moves them into place and marks the shard
 * finished. If killed at any moment, the shard is either complete or must be made again.
 */
export async function saveShard(
  dir: string,
  index: number,
  write: (files: { part: string; rejects: string }) => Promise<Written>,
): Promise<Shard> {
  await mkdir(dir, { recursive: true })
  const files = shardFiles(dir, index)
  const temporary = { part: draftOf(files.part), rejects: draftOf(files.rejects) }
  try {
    const { rows, counts, kept } = await write(temporary)
    const mark: Mark = {
      schema: 'shard/1',
      rows,
      counts: counts.map((count) => ({ ...count, drops: { ...count.drops } })),
      part: kept
        ? { of: relative(dir, kept.of), sha256: await markedDigest(kept.of), rows: kept.rows }
        : await describe(temporary.part),
      rejects: await describe(temporary.rejects),
    }
    await rename(temporary.rejects, files.rejects)
    if (!kept) await rename(temporary.part, files.part)
    await writeAtomic(files.mark, `${JSON.stringify(mark)}\n`)
    return shardOf(dir, index, mark)
  } finally {
    // An unfinished draft would take up the very disk space that may have run out.
    for (const file of Object.values(temporary)) await removeDraft(file)
  }
}

/** A finished shard as its mark describes it, without reading its files. Null when it was not finished. */
export async function peekShard(dir: string, index: number): Promise<Shard | null> {
  const mark = await readMark(dir, index)
  return mark && shardOf(dir, index, mark)
}

/** A finished shard, with its files checked against its mark; null when it was not finished. */
export async function findShard(dir: string, index: number): Promise<Shard | null> {
  const files = shardFiles(dir, index)
  const mark = await readMark(dir, index)
  if (mark === null) return null
  const shard = shardOf(dir, index, mark)
  if ('bytes' in mark.part) await checkFile(shard.part, mark.part)
  // The other shard's file was checked with that shard; here we only check that it is still the same file.
  else if ((await markedDigest(shard.part)) !== mark.part.sha256) throw corrupt(files.mark)
  await checkFile(files.rejects, mark.rejects)
  return shard
}

/** Fails if the file with a shard's rows is not what was written. */
export async function checkPart({ part }: Shard): Promise<void> {
  const path = part.replace(/\.parquet$/, '.done')
  const mark = parseMark((await readTextIfExists(path)) ?? '', path)
  if (!('bytes' in mark.part)) throw corrupt(path)
  await checkFile(part, mark.part)
}

async function readMark(dir: string, index: number): Promise<Mark | null> {
  const path = shardFiles(dir, index).mark
  const text = await readTextIfExists(path)
  return text === null ? null : parseMark(text, path)
}

function shardOf(dir: string, index: number, { rows, counts, part }: Mark): Shard {
  const files = shardFiles(dir, index)
  const kept = 'of' in part ? { part: join(dir, part.of), kept: part.rows } : { part: files.part, kept: null }
  return { index, rows, counts, ...kept, rejects: files.rejects }
}

/** The digest of a part according to its mark. */
async function markedDigest(part: string): Promise<string> {
  const path = part.replace(/\.parquet$/, '.done')
  const mark = parseMark((await readTextIfExists(path)) ?? '', path)
  return mark.part.sha256
}

function parseMark(text: string, path: string): Mark {
  try {
    return markSchema.parse(readJson(text))
  } catch {
    throw corrupt(path)
  }
}

async function checkFile(path: string, expected: { bytes: number; sha256: string }): Promise<void> {
  const found = await describe(path).catch(() => null)
  if (found?.bytes !== expected.bytes || found.sha256 !== expected.sha256) throw corrupt(path)
}

async function describe(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  const { size } = await stat(path)
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
  return { bytes: size, sha256: hash.digest('hex') }
}

function corrupt(path: string): BoundaryError {
  return new BoundaryError('store', `${path} has changed since it was written; remove its directory to rebuild it`, {
    code: 'CorruptShard',
    retryable: false,
  })
}
