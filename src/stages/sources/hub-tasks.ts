import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { definePlugin, type PluginContext, repoFrom } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import type { Source, StageContext } from '../../core/stage.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { digestSnapshot, openSnapshot } from '../../formats/hub/download.ts'
import { chooseTaskFiles, downloadTasks, type TaskFiles } from '../../formats/hub/download-tasks.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { compareBytes } from '../../lib/tree.ts'
import { taskRowOf, tasksAtOnce } from '../shared/task-row.ts'

const options = z.strictObject({
  repo: z.string().min(1).describe('`org/name`, or `file:PATH` for a folder laid out the same way.'),
  revision: z.string().min(1).optional().describe('Branch, tag or commit; a commit is the same tasks for ever.'),
  file: z.string().min(1).optional().describe('One parquet file of several, by its path or the last part of it.'),
  source: z.string().min(1).optional().describe("What mixes know it by (default: the dataset's name)."),
  maxGb: z.number().positive().default(50).describe('A dataset with more data than this is refused.'),
})

type Options = z.output<typeof options>

/** Tasks of a dataset on the Hub, packed in parquet files or as folders. */
export default definePlugin<Source<TaskRow>, typeof options>({
  name: 'sources/hub-tasks',
  summary: 'Harbor tasks of a dataset on the Hugging Face Hub, at a revision',
  options,
  make: (written, context) => {
    const asked = { ...written, repo: repoFrom(context, written.repo) }
    return {
      kind: 'source',
      gives: 'task',
      expensive: true,
      identity: { ...written, maxGb: undefined },
      needs: () => [{ kind: 'dataset', repo: asked.repo, revision: asked.revision ?? null }],
      fingerprint: async (at) => digestSnapshot((await find(asked, context, at)).snapshot),
      async *rows(at) {
        at.signal.throwIfAborted()
        const chosen = await find(asked, context, at)
        const dir = join(at.workDir, digestSnapshot(chosen.snapshot).slice(0, 16))
        await downloadTasks(chosen, dir, { limitBytes: asked.maxGb * 1e9, signal: at.signal })
        const source = asked.source ?? asked.repo.split('/').at(-1) ?? asked.repo
        const toRow = (task: string) => taskRowOf(task, source, relative(dir, task))
        for await (const row of mapInOrder(await taskDirs(dir), tasksAtOnce, toRow)) {
          at.signal.throwIfAborted()
          yield row
        }
      },
    }
  },
})

async function find(asked: Options, { env }: PluginContext, { signal }: StageContext): Promise<TaskFiles> {
  const repository = openRepository(asked.repo, { env, signal })
  return chooseTaskFiles(await openSnapshot(repository, asked.revision ?? null), asked.file ?? null)
}

/** Published sets have tasks at any depth. */
async function taskDirs(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true })
  const tasks = entries.filter((entry) => entry.isFile() && entry.name === taskFileName)
  return tasks.map(({ parentPath }) => parentPath).sort(compareBytes)
}
