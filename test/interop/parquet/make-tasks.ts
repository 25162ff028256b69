// Packs a folder of tasks into a parquet file, for pyarrow and datasets to judge.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { packTasks } from '../../../src/formats/task-parquet/pack-tasks.ts'

const [folder, file] = process.argv.slice(2)
if (folder === undefined || file === undefined) throw new Error('usage: make-parquet FOLDER FILE')
const names = (await readdir(folder, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
await packTasks(
  names.sort().map((name) => ({ path: name, dir: join(folder, name) })),
  file,
)
