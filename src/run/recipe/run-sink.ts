import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type ReplayResult, replayResultSchema } from '../../core/replay.ts'
import type { Sink } from '../../core/stage.ts'
import type { MadeSoFar, SinkReport } from '../../core/whole-set.ts'
import { draftOf, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { runsOfRows } from '../../store/rows/run-jobs.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { manifestFile } from '../traces/publish-dir.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'
import { closeViews, openViews } from './views.ts'

/** A sink that has run: where its files are, and what it reports about them. */
export interface SunkStage extends SinkReport {
  readonly id: string
  readonly dir: string
  readonly cached: boolean
  /** How many rows it was given. */
  readonly rows: number
  /** Whether it was given no row and `dir` still holds what an earlier run wrote. */
  readonly stale: boolean
  /** Null when none of its rows was replayed. */
  readonly replay: ReplayResult | null
}

interface SinkPlace {
  readonly runDir: string
  /** Digest of everything that determines what the sink writes. */
  readonly digest: string
  /** How many rows it is given. */
  readonly rows: number
}

const receipt = '.receipt.json'
/** Schema of the manifest next to a recipe's traces, with what their replay needs when they are elsewhere. */
const datasetSchema = 'recipe-dataset/1'
const receiptSchema = z.object({
  digest: z.string(),
  counts: z.record(z.string(), z.number()),
  files: z.array(z.string()),
  replay: replayResultSchema.nullable().default(null),
})

/** What a sink wrote earlier from exactly the same rows; null when it has to write. */
export async function findSunk(step: Step, { runDir, digest, rows }: SinkPlace): Promise<SunkStage | null> {
  const dir = join(runDir, 'out', step.id)
  const before = await readReceipt(dir, digest)
  return before && { ...before, id: step.id, dir, rows, stale: false, cached: true }
}

/** Lets a sink write its directory, whole or not at all. If there are no rows, an earlier run's output stays. */
export async function runSink(
  at: StepContext,
  step: Step,
  inputs: readonly StepOutput[],
  { runDir, digest, rows, made }: SinkPlace & { readonly made: MadeSoFar },
): Promise<SunkStage> {
  const [live] = step.stages
  if (!live) throw new Error('a step has a stage')
  const dir = join(runDir, 'out', live.id)
  if (rows === 0 && (await exists(dir)))
    return { id: live.id, dir, rows, stale: true, cached: false, counts: {}, files: [], replay: null }
  const temporary = draftOf(dir)
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { recursive: true })
  const views = await openViews(at.sql, inputs)
  try {
    const [view] = views
    if (!view) throw new Error('a sink has an input')
    const context = { ...at.contextOf(live), sql: at.sql, outDir: temporary, made }
    const report = await (live.stage as Sink).write(view, context)
    if (inputs[0]?.manifest.kind === 'trace') {
      const runs = await runsOfRows(at.sql, view.view, runDir, context.signal)
      const manifest = { schema: datasetSchema, recipe: made.recipe, counts: report.counts, runs }
      await writeAtomic(join(temporary, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`)
    }
    const replay = made.replay ?? null
    await writeAtomic(join(temporary, receipt), `${JSON.stringify({ digest, ...report, replay })}\n`)
    await rm(dir, { recursive: true, force: true })
    await renameDraft(temporary, dir)
    return { ...report, id: live.id, dir, rows, stale: false, cached: false, replay }
  } finally {
    await closeViews(at.sql, views)
    await removeDraft(temporary)
  }
}

/** An unreadable receipt is treated as missing: the files are written again. */
async function readReceipt(
  dir: string,
  digest: string,
): Promise<Pick<SunkStage, 'counts' | 'files' | 'replay'> | null> {
  const text = await readTextIfExists(join(dir, receipt))
  const parsed = receiptSchema.safeParse(parseJson(text ?? ''))
  if (!parsed.success || parsed.data.digest !== digest) return null
  const { counts, files, replay } = parsed.data
  for (const file of files) if (!(await exists(join(dir, file)))) return null
  return { counts, files, replay }
}
