import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TaskDraft, TaskRow } from '../../core/row.ts'
import { type AnyStage, type Dropped, isDropped } from '../../core/stage.ts'
import { saveTaskDraft } from '../../formats/harbor-task/draft.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { taskRowOf } from '../../stages/shared/task-row.ts'

/** Wraps a maker as a stage of a recipe that turns its drafts into tasks. Any other stage is returned as is. */
export function givingTasks(stage: AnyStage): AnyStage {
  if (stage.kind !== 'map' || stage.gives !== 'draft') return stage
  return {
    ...stage,
    gives: 'task',
    async *run(rows, at) {
      for await (const made of stage.run(rows, at)) yield isDropped(made) ? made : await taskOf(made, at.workDir)
    },
  }
}

async function taskOf(draft: TaskDraft, workDir: string): Promise<TaskRow | Dropped> {
  const { name, lineage } = Object(draft)
  // The draft may come from a user's plug-in and is unchecked.
  if (typeof name !== 'string' || typeof lineage?.pipeline !== 'string')
    return { drop: 'bad-draft', detail: 'expected a draft with a name and a lineage' }
  await mkdir(workDir, { recursive: true })
  const scratch = await makeScratchDir(join(workDir, 'draft-'))
  try {
    return await taskRowOf(await saveTaskDraft(draft, scratch), draft.lineage.pipeline)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { drop: 'bad-draft', detail: error.message, id: draft.name }
  } finally {
    await removeDraft(scratch)
  }
}
