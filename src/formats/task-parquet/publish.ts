import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asideOf, removeDraft } from '../../lib/drafts.ts'
import type { UnpackPlan } from './plan-unpack.ts'

/** Moves unpacked tasks from `stage/new` to their places; when one cannot be moved, all go back to how it was. */
export async function publishTasks(plan: UnpackPlan, stage: string, outDir: string): Promise<void> {
  if (!plan.outExists) return rename(join(stage, 'new'), outDir)
  const asides: string[] = []
  const undo: (() => Promise<void>)[] = []
  try {
    for (const { path, action } of plan.tasks) {
      if (action === 'skip') continue
      const [fresh, place] = [join(stage, 'new', path), join(outDir, path)]
      await mkdir(dirname(place), { recursive: true })
      if (action === 'replace') {
        const aside = asideOf(place)
        asides.push(aside)
        await moveOnRecord(place, aside, undo)
      }
      await moveOnRecord(fresh, place, undo)
    }
  } catch (error) {
    for (const back of undo.reverse()) await back()
    throw error
  }
  for (const aside of asides) await removeDraft(aside)
}

async function moveOnRecord(from: string, to: string, undo: (() => Promise<void>)[]): Promise<void> {
  await rename(from, to)
  undo.push(() => rename(to, from))
}
