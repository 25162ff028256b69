import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { exceptionOf } from '../core/trial-exception.ts'
import { mkdir, remove, rename, writeText } from '../lib/disk.ts'
import { makeScratchDir, removeDraft } from '../lib/drafts.ts'
import { exists, isMissing, readTextIfExists, writeAtomic } from '../lib/files.ts'
import { copyTree } from '../lib/tree.ts'
import { packFailedTry } from './failed-tries.ts'
import { idIn, parseTrialRecord, replacementName } from './trial-record.ts'
import type { OpenTrial } from './trial-store.ts'

const ofVerification = ['verifier', 'trial.log']

/**
 * Replaces a finished trial's own files and texts with what another verification left in `from`; the old ones are kept
 * as a failed try.
 */
export async function replaceTrial(
  dir: string,
  from: string,
  texts: { result: string; record: string },
): Promise<void> {
  await finishReplacement(dir)
  await packFailedTry(dir, 1)
  try {
    await prepareReplacement(dir, from, texts.record)
    await writeAtomic(join(dir, 'result.json'), texts.result)
  } finally {
    await finishReplacement(dir)
  }
}

/**
 * Stages files and a record next to those of a finished trial. They take effect once result.json carries the record's
 * id: that file, which Harbor's tools read, is at every moment either the old one or the new one.
 */
export async function prepareReplacement(dir: string, from: string, record: string): Promise<void> {
  const stage = join(dir, replacementName)
  await mkdir(join(stage, 'verifier'), { recursive: true })
  for (const name of ofVerification) {
    if (!(await exists(join(from, name)))) continue
    await cp(join(from, name), join(stage, name), { recursive: true, verbatimSymlinks: true })
  }
  await writeAtomic(join(stage, 'record.json'), record)
}

/**
 * Moves staged files into place, also after a kill. Files that do not belong to the current result are discarded. Only
 * for the job's owner.
 */
export async function finishReplacement(dir: string): Promise<void> {
  const stage = join(dir, replacementName)
  const text = await readTextIfExists(join(stage, 'record.json'))
  const record = text === null ? null : parseTrialRecord(text)
  const result = record === null ? null : await readTextIfExists(join(dir, 'result.json'))
  if (record !== null && result !== null && record.id === idIn(result)) {
    for (const name of ofVerification) {
      if (!(await exists(join(stage, name)))) continue
      await remove(join(dir, name))
      await rename(join(stage, name), join(dir, name))
    }
    const exception = exceptionOf(record)
    if (exception) await writeText(join(dir, 'exception.txt'), exception.traceback, 'w')
    else await remove(join(dir, 'exception.txt'))
    await rename(join(stage, 'record.json'), join(dir, 'record.json'))
  }
  await remove(stage)
}

/**
 * The files of a trial whose replacement was interrupted by a kill, as a copy in which it is completed: a reader
 * changes nothing.
 */
export async function openReplaced(dir: string): Promise<OpenTrial> {
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-trial-'))
  const discard = () => removeDraft(scratch)
  try {
    const copy = join(scratch, basename(dir))
    await copyTree(dir, copy)
    await finishReplacement(copy)
    return { dir: copy, [Symbol.asyncDispose]: discard }
  } catch (error) {
    await discard()
    // Its owner is alive and has just moved them.
    if (isMissing(error)) return { dir, [Symbol.asyncDispose]: async () => {} }
    throw error
  }
}
