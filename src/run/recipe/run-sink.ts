import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { MadeSoFar, Sink, SinkReport } from '../../core/stage.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { halfMade } from '../../lib/half-made.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'
import { closeViews, openViews } from './views.ts'

/** A sink that has run: where its files are, and what it says about them. */
export interface SunkStage extends SinkReport {
  readonly id: string
  readonly dir: string
  readonly cached: boolean
}

interface SinkPlace {
  readonly runDir: string
  /** Of all that decides what the sink writes. */
  readonly digest: string
}

const receipt = '.receipt.json'
const receiptSchema = z.object({
  digest: z.string(),
  counts: z.record(z.string(), z.number()),
  files: z.array(z.string()),
})

/** What a sink wrote before, of the very same rows; null when it has to write. */
export async function findSunk(step: Step, { runDir, digest }: SinkPlace): Promise<SunkStage | null> {
  const dir = join(runDir, 'out', step.id)
  const before = await readReceipt(dir, digest)
  return before && { ...before, id: step.id, dir, cached: true }
}

/** Has a sink write its directory, whole or not at all. */
export async function runSink(
  at: StepContext,
  step: Step,
  inputs: readonly StepOutput[],
  { runDir, digest, made }: SinkPlace & { readonly made: MadeSoFar },
): Promise<SunkStage> {
  const [live] = step.stages
  if (!live) throw new Error('a step has a stage')
  const dir = join(runDir, 'out', live.id)
  const temporary = dir + halfMade
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { recursive: true })
  const views = await openViews(at.sql, inputs)
  try {
    const [view] = views
    if (!view) throw new Error('a sink has an input')
    const context = { ...at.contextOf(live), sql: at.sql, outDir: temporary, made }
    const report = await (live.stage as Sink).write(view, context)
    await writeAtomic(join(temporary, receipt), `${JSON.stringify({ digest, ...report })}\n`)
    await rm(dir, { recursive: true, force: true })
    await rename(temporary, dir)
    return { ...report, id: live.id, dir, cached: false }
  } finally {
    await closeViews(at.sql, views)
    await rm(temporary, { recursive: true, force: true })
  }
}

/** A receipt that cannot be read is none: the files are written anew. */
async function readReceipt(dir: string, digest: string): Promise<SinkReport | null> {
  const text = await readTextIfExists(join(dir, receipt))
  const parsed = receiptSchema.safeParse(parseJson(text ?? ''))
  if (!parsed.success || parsed.data.digest !== digest) return null
  const { counts, files } = parsed.data
  for (const file of files) if (!(await exists(join(dir, file)))) return null
  return { counts, files }
}
