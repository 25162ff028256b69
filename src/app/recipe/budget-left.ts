import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ledgerFile } from '../../store/job-dir.ts'
import { loadSums } from '../../store/ledger.ts'

/**
 * What a stage's budget leaves for the job in one directory, after what its sibling jobs have spent. Undefined: no
 * limit.
 */
export async function budgetLeft(budgetUsd: number | undefined, dir: string): Promise<number | undefined> {
  if (budgetUsd === undefined) return undefined
  const names = await readdir(dirname(dir)).catch(() => [])
  const beside = names.filter((name) => name !== basename(dir))
  const spent = await Promise.all(beside.map((name) => loadSums(ledgerFile(join(dirname(dir), name)))))
  return spent.reduce((left, { all }) => left - all.costUsd, budgetUsd)
}
