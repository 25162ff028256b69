import { join, relative } from 'node:path'
import type { RecipeLock, StageCount } from '../../core/recipe.ts'
import type { ReplayResult } from '../../core/replay.ts'
import { writeAtomic } from '../../lib/files.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { RecipeOutcome } from './outcome.ts'

/** What a recipe did, stage by stage: the file that `recipe explain` reads and that a dataset's card quotes. */
export interface RecipeReport {
  readonly schema: 'recipe-report/1'
  readonly name: string
  /** Present when the run was a rehearsal with stand-ins: its rows are not training data. */
  readonly rehearsal?: true | undefined
  readonly stages: readonly StageCount[]
  /** Where the rows of each step are, in order. */
  readonly steps: readonly {
    readonly id: string
    readonly digest: string
    readonly dir: string
    readonly rows: number
    /** Rows by source, largest first. */
    readonly sources: Readonly<Record<string, number>>
  }[]
  /** What this run wrote, without datasets of earlier runs that stay because there was no row. */
  readonly outputs: readonly {
    readonly id: string
    readonly dir: string
    readonly counts: Readonly<Record<string, number>>
    /** Absent in manifests of earlier versions. */
    readonly replay?: ReplayResult | null | undefined
  }[]
}

/** Writes manifest.json of a finished run. */
export async function saveReport(dir: string, lock: RecipeLock, outcome: RecipeOutcome): Promise<void> {
  const report: RecipeReport = {
    schema: 'recipe-report/1',
    name: lock.name,
    ...(lock.rehearsal && { rehearsal: lock.rehearsal }),
    stages: countsOf(outcome.steps),
    steps: outcome.steps.map((step) => ({
      id: step.manifest.id,
      digest: step.manifest.digest,
      dir: relative(dir, step.dir),
      rows: step.manifest.rows,
      sources: step.manifest.sources,
    })),
    outputs: outcome.sinks
      .filter(({ stale }) => !stale)
      .map(({ id, dir: out, counts, replay }) => ({ id, dir: relative(dir, out), counts, replay })),
  }
  await writeAtomic(join(dir, 'manifest.json'), `${JSON.stringify(report, null, 2)}\n`)
}

/** What every stage took, gave and dropped. */
export function countsOf(steps: readonly StepOutput[]): readonly StageCount[] {
  return steps.flatMap(({ manifest }) => manifest.counts)
}
