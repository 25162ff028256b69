import { constants } from 'node:fs'
import { copyFile, lstat, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import { draftBeside, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { codeOf, exists, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { findStep, type StepOutput } from './step-dir.ts'

/** What a shared cache did with a step; no outcome stops a run. */
export type SharedStep = { readonly kind: 'done' | 'absent' } | { readonly kind: 'refused'; readonly why: string }

/** Files of a step besides its shards. */
const extras = ['result.json', 'shard-rows']

/**
 * Copies a finished step from a folder shared by several machines. Others may write there, so nothing in it is trusted:
 * only regular files with the names a step has are copied, no links, and the copy is used only if its digests, its name
 * and the step it belongs to are right.
 */
export async function fetchStep(shared: string, dir: string, digest: string): Promise<SharedStep> {
  const from = join(shared, basename(dir))
  if ((await exists(dir)) || !(await exists(join(from, 'manifest.json')))) return { kind: 'absent' }
  const draft = draftBeside(dir)
  try {
    await mkdir(draft, { recursive: true })
    await copyStep(from, draft)
    const found = await findStep(draft)
    if (found?.manifest.digest !== digest) return refused(`${from} is another step`)
    await renameDraft(draft, dir)
    return { kind: 'done' }
  } catch (error) {
    return refused(messageOf(error).replaceAll(draft, from))
  } finally {
    await removeDraft(draft)
  }
}

/** Puts a finished step where other machines find it: whole, or not at all. An existing one stays. */
export async function shareStep(shared: string, { dir }: StepOutput): Promise<SharedStep> {
  const to = join(shared, basename(dir))
  if (await exists(to)) return { kind: 'absent' }
  const draft = draftBeside(to)
  try {
    await mkdir(draft, { recursive: true })
    await copyStep(dir, draft)
    await renameDraft(draft, to)
    return { kind: 'done' }
  } catch (error) {
    // Another machine was faster.
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return { kind: 'absent' }
    return refused(messageOf(error))
  } finally {
    await removeDraft(draft)
  }
}

/** Copies the files of a step by their fixed names, its manifest last. */
async function copyStep(from: string, to: string): Promise<void> {
  const manifest = Object(parseJson((await readText(from, 'manifest.json')) ?? ''))
  const shards: unknown = manifest.shards
  if (typeof shards !== 'number' || !Number.isInteger(shards) || shards < 0 || shards > 1_000_000)
    throw damaged(join(from, 'manifest.json'))
  for (let index = 0; index < shards; index++) {
    const number = String(index).padStart(5, '0')
    const mark = `part-${number}.done`
    const of: unknown = Object(Object(parseJson((await readText(from, mark)) ?? '')).part).of
    // The rows are in a file of an earlier step, which was already copied or made.
    if (of === undefined) await copyPlain(from, to, `part-${number}.parquet`)
    else if (typeof of !== 'string' || !/^\.\.\/\w[\w.-]*\/part-\d{5,}\.parquet$/.test(of))
      throw damaged(join(from, mark))
    await copyPlain(from, to, `rejects-${number}.parquet`)
    await copyPlain(from, to, mark)
  }
  for (const name of extras) if (await exists(join(from, name))) await copyPlain(from, to, name)
  await copyPlain(from, to, 'manifest.json')
}

/** No text of ours is larger. */
const textBytes = 256 << 20

async function readText(dir: string, name: string): Promise<string | null> {
  await expectPlain(join(dir, name), textBytes)
  return readTextIfExists(join(dir, name))
}

async function copyPlain(from: string, to: string, name: string): Promise<void> {
  await expectPlain(join(from, name), Number.POSITIVE_INFINITY)
  await copyFile(join(from, name), join(to, name), constants.COPYFILE_EXCL)
}

/** A link could expose files of this machine, and a pipe would never end. */
async function expectPlain(path: string, mostBytes: number): Promise<void> {
  const found = await lstat(path)
  if (!found.isFile() || found.size > mostBytes) throw damaged(path)
}

function damaged(path: string): BoundaryError {
  return new BoundaryError('store', `${path} does not belong to a step`, { code: 'CorruptShard', retryable: false })
}

function refused(why: string): SharedStep {
  return { kind: 'refused', why }
}
