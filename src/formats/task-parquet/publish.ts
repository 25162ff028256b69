import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { UnpackPlan } from './plan-unpack.ts'

/** Moves unpacked tasks from `stage/new` to their places; when one cannot be moved, all go back to how it was. */
export async function publishTasks(plan: UnpackPlan, stage: string, outDir: string): Promise<void> {
  if (!plan.outExists) return rename(join(stage, 'new'), outDir)
  await mkdir(join(stage, 'old'))
  const undo: (() => Promise<void>)[] = []
  try {
    for (const [row, { path, action }] of plan.tasks.entries()) {
      if (action === 'skip') continue
      const [fresh, place, old] = [join(stage, 'new', path), join(outDir, path), join(stage, 'old', String(row))]
      await mkdir(dirname(place), { recursive: true })
      if (action === 'replace') await moveOnRecord(place, old, undo)
      await moveOnRecord(fresh, place, undo)
    }
  } catch (error) {
    for (const back of undo.reverse()) await back()
    throw error
  }
}

async function moveOnRecord(from: string, to: string, undo: (() => Promise<void>)[]): Promise<void> {
  await rename(from, to)
  undo.push(() => rename(to, from))
}
