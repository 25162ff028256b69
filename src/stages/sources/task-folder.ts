import { basename, resolve } from 'node:path'
import { z } from 'zod'
import { definePlugin, pathFrom } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import type { Source } from '../../core/stage.ts'
import { digestTask } from '../../formats/harbor-task/digests.ts'
import { type FoundTasks, findTasks } from '../../formats/harbor-task/find.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { taskRowOf, tasksAtOnce } from '../shared/task-row.ts'

const options = z.strictObject({
  path: z.string().min(1).describe('A folder of Harbor tasks, or one task.'),
  source: z.string().min(1).optional().describe("What mixes know it by (default: the folder's name)."),
})

/** Every task in a local folder, in order of name. */
export default definePlugin<Source<TaskRow>, typeof options>({
  name: 'sources/task-folder',
  summary: 'Harbor tasks of a folder on this machine',
  options,
  make: ({ path: asked, source = basename(resolve(asked)) }, context) => {
    const path = pathFrom(context, asked)
    return {
      kind: 'source',
      gives: 'task',
      needs: () => [
        {
          kind: 'folder',
          path,
          what: 'the tasks of the source',
          provide: 'put the tasks there, or choose another folder',
        },
      ],
      expect: async () => {
        const { tasks } = await find(path)
        return { rows: tasks.length }
      },
      async fingerprint() {
        const { tasks, broken } = await find(path)
        const digests: string[] = []
        for await (const digest of mapInOrder(tasks, tasksAtOnce, contentOf)) digests.push(digest)
        return digestJson({
          tasks: tasks.map((dir, i) => [basename(dir), digests[i]]),
          broken: broken.map(({ dir }) => dir),
        })
      },
      async *rows(at) {
        at.signal.throwIfAborted()
        const { tasks, broken } = await find(path)
        for (const { dir, reason } of broken)
          yield { drop: 'broken-task', detail: reason, id: `${source}.${basename(dir)}` }
        for await (const row of mapInOrder(tasks, tasksAtOnce, (dir) => taskRowOf(dir, source))) {
          at.signal.throwIfAborted()
          yield row
        }
      },
    }
  },
})

function find(path: string): Promise<FoundTasks> {
  return findTasks(path, { allowNoTests: true })
}

async function contentOf(dir: string): Promise<string> {
  return (await digestTask(dir)).dirhash
}
