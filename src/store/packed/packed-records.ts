import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { readLines } from '../../lib/lines.ts'
import type { FoundRecord, IndexOptions, RecordFiles } from '../record-index.ts'
import { parseTrialRecord } from '../trial-record.ts'
import { parseIndexLine, recordTextIn } from './index-line.ts'
import type { PackedIndex } from './packed-index.ts'

/**
 * Yields every finished trial of a packed job in batches. Its index.jsonl holds all records, but for many trials the
 * copies in the record index are faster to read.
 */
export async function* readPackedRecords(
  { job, packed }: { readonly job: string; readonly packed: string },
  index: PackedIndex,
  options: IndexOptions = {},
): AsyncGenerator<readonly TrialRecord[], void, void> {
  const { trials, bytes } = index
  if (trials.size < (options.indexFrom ?? 1000)) {
    for await (const { record } of recordsBetween(packed, index, 0, bytes)) yield [record]
    return
  }
  const { readIndexed, stampOfFiles } = await import('../record-index.ts')
  const whole = stampOfFiles(join(packed, 'index.jsonl'))
  const { numbers = [], changedMs = 0 } = whole ?? {}
  const stampOf = (name: string) => whole && { numbers: [...numbers, trials.get(name)?.lineAt ?? 0], changedMs }
  const read = async function* (left: ReadonlySet<string>): AsyncGenerator<readonly FoundRecord[], void, void> {
    for await (const { name, record } of recordsBetween(packed, index, 0, bytes))
      if (left.has(name)) yield [{ name, record, stamp: stampOf(name) }]
  }
  yield* readIndexed(job, new Set(trials.keys()), { stampOf, read } satisfies RecordFiles, options)
}

/** The records of finished trials whose lines lie in a range of index.jsonl. */
export async function* recordsBetween(
  packedDir: string,
  { trials }: PackedIndex,
  start: number,
  end: number,
): AsyncGenerator<Pick<FoundRecord, 'name' | 'record'>, void, void> {
  if (start === end) return
  const path = join(packedDir, 'index.jsonl')
  for await (const { at, bytes } of readLines(path, start, end)) {
    const line = at === 0 ? null : parseIndexLine(bytes)
    if (line?.kind !== 'trial' || trials.get(line.trial)?.lineAt !== at) continue
    const record = parseTrialRecord(recordTextIn(bytes))
    if (record === null) throw damagedRecord(path, line.trial, at)
    yield { name: line.trial, record }
  }
}

function damagedRecord(path: string, trial: string, at: number): BoundaryError {
  const message = `${path}: the record of trial ${JSON.stringify(trial)} at byte ${at} is damaged`
  return new BoundaryError('store', message, { retryable: false })
}
