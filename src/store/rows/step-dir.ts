import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import type { StageCount } from '../../core/recipe.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { findShard, peekShard, type Shard } from './shards.ts'

const schema = z.strictObject({
  schema: z.literal('step/1'),
  id: z.string(),
  digest: z.string(),
  kind: z.enum(['raw', 'task', 'trace']),
  shards: z.number(),
  rows: z.number(),
  /** Rows by source. */
  sources: z.record(z.string(), z.number()).default({}),
  counts: z.array(
    z.strictObject({
      id: z.string(),
      use: z.string(),
      taken: z.number(),
      given: z.number(),
      drops: z.record(z.string(), z.number()),
    }),
  ),
})

/** What a finished step says about itself. */
export type StepManifest = z.output<typeof schema>

/** A finished step with its shards, in order. */
export interface StepOutput {
  readonly dir: string
  readonly manifest: StepManifest
  readonly shards: readonly Shard[]
}

/** A finished step with every file checked; null when it was not finished. */
export function findStep(dir: string): Promise<StepOutput | null> {
  return stepAt(dir, findShard)
}

/**
 * The same for readers that only look: it returns at once however many rows there are, and a damaged file is noticed
 * when it is read.
 */
export function peekStep(dir: string): Promise<StepOutput | null> {
  return stepAt(dir, peekShard)
}

async function stepAt(dir: string, shardAt: typeof findShard): Promise<StepOutput | null> {
  const text = await readTextIfExists(join(dir, 'manifest.json'))
  if (text === null) return null
  const parsed = schema.safeParse(parseJson(text))
  if (!parsed.success)
    throw new BoundaryError('store', `${join(dir, 'manifest.json')} has changed since it was written; remove ${dir}`, {
      code: 'CorruptShard',
      retryable: false,
    })
  const manifest = parsed.data
  const shards: Shard[] = []
  for (let index = 0; index < manifest.shards; index++) {
    const shard = await shardAt(dir, index)
    if (shard === null)
      throw new BoundaryError('store', `${dir} lost its shard ${index}; remove the directory to rebuild it`, {
        code: 'CorruptShard',
        retryable: false,
      })
    shards.push(shard)
  }
  return { dir, manifest, shards }
}

/**
 * How many rows a shard of a step has: the number set when its first shard was made, whatever is asked for now. That
 * number decides which shards are missing.
 */
export async function settleShardRows(dir: string, asked: number): Promise<number> {
  const path = join(dir, 'shard-rows')
  const begun = (await readdir(dir)).some((name) => name.endsWith('.done'))
  const before = begun ? await readTextIfExists(path) : null
  if (before === null) {
    await writeAtomic(path, `${asked}\n`)
    return asked
  }
  if (/^[1-9]\d*\n$/.test(before)) return Number(before)
  throw new BoundaryError('store', `${path} has changed since it was written; remove ${dir}`, {
    code: 'CorruptShard',
    retryable: false,
  })
}

/** Marks a step finished. */
export async function finishStep(
  dir: string,
  about: Pick<StepManifest, 'id' | 'digest' | 'kind' | 'sources'>,
  shards: readonly Shard[],
): Promise<StepOutput> {
  const manifest: StepManifest = {
    schema: 'step/1',
    ...about,
    shards: shards.length,
    rows: shards.reduce((sum, { rows }) => sum + rows, 0),
    counts: addCounts(shards.map(({ counts }) => counts)),
  }
  await writeAtomic(join(dir, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  return { dir, manifest, shards }
}

/** Sums the counts of several shards. */
function addCounts(all: readonly (readonly StageCount[])[]): StepManifest['counts'] {
  const sums = new Map<string, StepManifest['counts'][number]>()
  for (const { id, use, taken, given, drops } of all.flat()) {
    const sum = sums.get(id) ?? { id, use, taken: 0, given: 0, drops: {} }
    sum.taken += taken
    sum.given += given
    for (const [reason, count] of Object.entries(drops)) sum.drops[reason] = (sum.drops[reason] ?? 0) + count
    sums.set(id, sum)
  }
  return [...sums.values()]
}
