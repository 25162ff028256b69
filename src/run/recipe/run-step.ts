import { mkdir } from 'node:fs/promises'
import type { Shard } from '../../store/rows/shards.ts'
import { findStep, finishStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { runShards } from './run-shards.ts'
import { runSource } from './run-source.ts'
import { runWhole } from './run-whole.ts'
import type { StepWork } from './step-work.ts'

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
