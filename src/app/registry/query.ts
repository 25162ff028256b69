import { messageOf, UserError } from '../../core/errors.ts'
import type { Ancestor } from '../../core/view-board.ts'
import type { Row } from '../../registry/database.ts'
import { collectGarbage, type Garbage } from '../../registry/gc.ts'
import { lineageOf } from '../../registry/lineage.ts'
import {
  type FoundRun,
  type Leader,
  leaderboard,
  type Matrix,
  type RunFilter,
  type RunSummary,
  resultMatrix,
  searchRuns,
  summarizeRuns,
} from '../../registry/search.ts'
import { raw } from '../../registry/sql.ts'
import { type RegistryPlace, withRegistry } from './open.ts'

export type { FoundRun, Leader, Matrix, RunFilter, RunSummary } from '../../registry/search.ts'
export { csvLine } from '../../registry/transfer.ts'

/** Matching runs, newest first. */
export function findRuns(place: RegistryPlace, filter: RunFilter): Promise<FoundRun[]> {
  return withRegistry(place, (database) => searchRuns(database, filter), { existing: true })
}

/** Aggregates all finished runs of each model, agent and benchmark. */
export function findSummaries(place: RegistryPlace, filter: RunFilter): Promise<RunSummary[]> {
  return withRegistry(place, (database) => summarizeRuns(database, filter), { existing: true })
}

/** The newest finished runs, best first; the benchmark is given by its full name. */
export function findLeaders(place: RegistryPlace, filter: RunFilter = {}): Promise<Leader[]> {
  return withRegistry(place, (database) => leaderboard(database, filter), { existing: true })
}

/** The same as a table of models by benchmarks. */
export function findMatrix(place: RegistryPlace, filter: RunFilter = {}): Promise<Matrix> {
  return withRegistry(place, (database) => resultMatrix(database, filter), { existing: true })
}

/** What a registered model or dataset was made from. */
export async function findLineage(place: RegistryPlace, name: string): Promise<Ancestor> {
  const found = await withRegistry(place, (database) => lineageOf(database, name), { existing: true })
  if (found !== null) return found
  throw new UserError(
    `the registry has no model or dataset ${JSON.stringify(name)}`,
    'registry ingest adds datasets, and models by their run_summary.json',
  )
}

/** Removes what no result needs and is older than the given number of days. */
export function cleanRegistry(place: RegistryPlace, olderThanDays: number, dryRun: boolean): Promise<Garbage> {
  const before = new Date(Date.now() - olderThanDays * 86_400_000).toISOString()
  return withRegistry(place, (database) => collectGarbage(database, before, dryRun), { existing: true })
}

/** Passes the rows of a read-only SELECT to `show`, in batches. */
export async function querySql(
  place: RegistryPlace,
  query: string,
  show: (rows: readonly Row[]) => void,
): Promise<void> {
  const bare = query.replace(/^(\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)+/, '')
  if (!/^(select|with|values|explain)\b/i.test(bare))
    throw new UserError(
      `expected a SELECT, got ${JSON.stringify(bare.slice(0, 40))}`,
      'registry sql only reads; ingest, import and gc write',
    )
  await withRegistry(
    place,
    async (database) => {
      await using snapshot = await database.snapshot()
      try {
        for await (const rows of snapshot.batches(raw(query))) show(rows)
      } catch (error) {
        throw new UserError(
          `the registry refused the statement: ${messageOf(error).replace(/\s+/g, ' ')}`,
          'registry sql takes one SELECT; docs/guides/use-the-registry.md lists the tables',
        )
      }
    },
    { existing: true },
  )
}
