import { digestJson } from '../../../lib/digest-json.ts'
import type { Bench, Measured } from './bench.ts'
import { findSymptoms } from './issue.ts'
import type { Journal, MutantRecord } from './journal.ts'
import type { Options } from './options.ts'

/** Changed files of a repository by path, and who changed them. */
export interface Mutant {
  readonly mutator: string
  /** Null when the result would no longer be a program. */
  readonly changed: Readonly<Record<string, string>> | null
}

/**
 * Runs the tests with a mutant in place and reports what it breaks. A promising mutant runs twice, to exclude chance.
 */
export async function judgeMutant(
  { mutator, changed }: Mutant,
  bench: Bench,
  journal: Journal,
  { maxBroken }: Options,
): Promise<MutantRecord> {
  const key = digestJson([bench.digest, changed, maxBroken])
  const before = journal.find(key)
  if (before) return before
  const judged = changed === null ? nothing('does-not-parse') : await measureTwice(changed, bench, maxBroken)
  const record = { key, mutator, ...judged }
  await journal.add(record)
  return record
}

type Judged = Omit<MutantRecord, 'key' | 'mutator'>

async function measureTwice(
  changed: Readonly<Record<string, string>>,
  bench: Bench,
  maxBroken: number,
): Promise<Judged> {
  const first = await bench.measure(changed)
  if (first.timedOut) return nothing('never-ends')
  const failToPass = brokenBy(first, bench)
  if (failToPass.length === 0) return nothing('breaks-nothing')
  const isEverything =
    failToPass.length === bench.passing.length || failToPass.length > bench.passing.length * maxBroken
  if (isEverything) return nothing('breaks-everything')
  const again = brokenBy(await bench.measure(changed), bench)
  if (again.join('\n') !== failToPass.join('\n')) return nothing('flaky')
  return { verdict: 'kept', failToPass, symptoms: findSymptoms(first.log) }
}

function brokenBy({ statuses }: Measured, { passing }: Bench): string[] {
  return passing.filter((name) => statuses.get(name) !== 'pass')
}

function nothing(verdict: MutantRecord['verdict']): Judged {
  return { verdict, failToPass: [], symptoms: [] }
}
