import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import type { StageCount } from '../../core/recipe.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'

const countSchema = z.strictObject({
  id: z.string(),
  use: z.string(),
  taken: z.number(),
  given: z.number(),
  drops: z.record(z.string(), z.number()),
})
const fileSchema = z.strictObject({ bytes: z.number(), sha256: z.string() })
const markSchema = z.strictObject({
  schema: z.literal('shard/1'),
  rows: z.number(),
  counts: z.array(countSchema),
  part: fileSchema,
  rejects: fileSchema,
})
type Mark = z.output<typeof markSchema>

/** A finished shard: rows in order, and what did not become one of them. */
export interface Shard {
  readonly index: number
  readonly rows: number
  readonly counts: readonly StageCount[]
  readonly part: string
  readonly rejects: string
}

/** Where the files of a shard are. */
export function shardFiles(dir: string, index: number): { part: string; rejects: string; mark: string } {
  const number = String(index).padStart(5, '0')
  return {
    part: join(dir, `part-${number}.parquet`),
    rejects: join(dir, `rejects-${number}.parquet`),
    mark: join(dir, `part-${number}.done`),
  }
}

/**
 * Has `write` fill both files of a shard under other names, then moves them into place and marks the shard finished.
 * Killed at any moment, the shard is there whole or has to be made again.
 */
export async function saveShard(
  dir: string,
  index: number,
  write: (files: { part: string; rejects: string }) => Promise<{ rows: number; counts: readonly StageCount[] }>,
): Promise<Shard> {
  await mkdir(dir, { recursive: true })
  const files = shardFiles(dir, index)
  const mine = `.${process.pid}.tmp`
  const temporary = { part: files.part + mine, rejects: files.rejects + mine }
  const { rows, counts } = await write(temporary)
  const mark: Mark = {
    schema: 'shard/1',
    rows,
    counts: counts.map((count) => ({ ...count, drops: { ...count.drops } })),
    part: await describe(temporary.part),
    rejects: await describe(temporary.rejects),
  }
  await rename(temporary.rejects, files.rejects)
  await rename(temporary.part, files.part)
  await writeAtomic(files.mark, `${JSON.stringify(mark)}\n`)
  return { index, rows, counts, part: files.part, rejects: files.rejects }
}

/** A shard that was finished before, its files checked against its mark; null when it was not. */
export async function findShard(dir: string, index: number): Promise<Shard | null> {
  const files = shardFiles(dir, index)
  const text = await readTextIfExists(files.mark)
  if (text === null) return null
  const mark = parseMark(text, files.mark)
  for (const [path, expected] of [
    [files.part, mark.part],
    [files.rejects, mark.rejects],
  ] as const)
    await checkFile(path, expected)
  return { index, rows: mark.rows, counts: mark.counts, part: files.part, rejects: files.rejects }
}

/** How many shards of a directory are finished, whether or not they are whole. */
export async function countShards(dir: string): Promise<number> {
  const names = await readdir(dir).catch(() => [])
  return names.filter((name) => /^part-\d+\.done$/.test(name)).length
}

function parseMark(text: string, path: string): Mark {
  try {
    return markSchema.parse(JSON.parse(text))
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
  return new BoundaryError('store', `${path} is not what was written; remove its directory to make it again`, {
    code: 'CorruptShard',
    retryable: false,
  })
}
