import { mkdir } from 'node:fs/promises'
import type { StoredKind } from '../../store/rows/columns.ts'
import type { Shard } from '../../store/rows/shards.ts'
import { findStep, finishStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { runShards } from './run-shards.ts'
import { runSource } from './run-source.ts'
import { runWhole } from './run-whole.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'

/** One step and everything it is run with. */
export interface StepWork {
  readonly step: Step
  readonly digest: string
  readonly dir: string
  readonly kind: StoredKind
  readonly inputKind: StoredKind
  readonly limit: number | null
  readonly shardRows: number
  /** Which shards this process makes: all of them, unless several share a recipe. */
  readonly mine: (index: number) => boolean
  /** Several processes share the recipe: none of them does what needs every row. */
  readonly shared: boolean
  readonly at: StepContext
  readonly signal: AbortSignal
  readonly onShard: (shard: Shard) => void
}

/** What a step gave: its output, found or made, or nothing yet because shards of other processes are missing. */
export type StepEnd = { readonly output: StepOutput; readonly cached: boolean } | { readonly waiting: number }

/** Makes the output of a step, or finds the one that is there. */
export async function runStep(work: StepWork, inputs: readonly StepOutput[]): Promise<StepEnd> {
  const found = await findStep(work.dir)
  if (found) return { output: found, cached: true }
  if (work.shared && work.step.stages[0]?.form === 'whole') return { waiting: 1 }
  await mkdir(work.dir, { recursive: true })
  const expected = await makeShards(work, inputs)
  const missing = expected.filter((shard) => shard === null).length
  if (missing > 0) return { waiting: missing }
  const shards = expected.filter((shard) => shard !== null)
  const output = await finishStep(work.dir, { id: work.step.id, digest: work.digest, kind: work.kind }, shards)
  return { output, cached: false }
}

async function makeShards(work: StepWork, inputs: readonly StepOutput[]): Promise<readonly (Shard | null)[]> {
  const form = work.step.stages[0]?.form
  if (form === 'whole') return runWhole(work, inputs)
  if (form === 'source') return runSource(work)
  return runShards(work, inputs[0]?.shards ?? [])
}
