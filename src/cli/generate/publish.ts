import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import type { Publish } from '../../generation/request.ts'
import { copyTree } from '../../lib/copy-tree.ts'
import { AlreadyThere, makeDirWhole } from '../../lib/new-dir.ts'
import { explainDisk } from '../disk-errors.ts'

/** Puts a dataset into a folder of this machine, laid out as a dataset repository is: tasks packed, traces as they are. */
export const publishToFile: Publish = async ({ dir, kind, target, signal }) => {
  const path = resolve(target.replace(/^file:(\/\/)?/, ''))
  try {
    await explainDisk(path, () =>
      makeDirWhole(path, async (temporary) => {
        if (kind === 'traces') return copyTree(dir, temporary)
        const { tasks } = await findTasks(dir, { allowNoTests: true })
        const packed = tasks.map((task) => ({ path: basename(task), dir: task }))
        await packTasks(packed, join(temporary, 'tasks.parquet'), { signal })
      }),
    )
  } catch (error) {
    if (!(error instanceof AlreadyThere)) throw error
    throw new UserError(`${target}: expected a path that is free, found something there`, 'name another --target-repo')
  }
  return `file:${path}`
}

/** Publishes where a target says. */
export const publish: Publish = (publication) => {
  if (publication.target.startsWith('file:')) return publishToFile(publication)
  throw hubIsElsewhere(publication.target)
}

/** Says no, before anything is made, to a target that nothing can be published to. */
export function checkTargetRepo(target: string | null): void {
  if (target !== null && !target.startsWith('file:')) throw hubIsElsewhere(target)
}

function hubIsElsewhere(target: string): UserError {
  return new UserError(
    `--target-repo: expected file:PATH, got ${JSON.stringify(target)}`,
    'publish to a folder and upload that, or add --no-upload',
  )
}
