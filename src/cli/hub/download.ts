import { basename, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { factor } from '../../app/flags/values.ts'
import {
  type DownloadOptions,
  downloadSnapshot,
  narrowed,
  openSnapshot,
  type Snapshot,
} from '../../formats/hub/download.ts'
import { chooseParquet, chooseTaskFiles, downloadTasks } from '../../formats/hub/download-tasks.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent hub download`: a dataset, or its tasks, become a folder. */
export default () =>
  new Command()
    .description(
      'Downloads a dataset of the Hugging Face Hub into a folder that appears whole or not at all; every file is checked against its digest.\n' +
        'The same command resumes after an interruption. Private datasets need HF_TOKEN.',
    )
    .argument('<dataset>', 'org/name, or file:PATH for a folder laid out the same way')
    .option('--model', 'it is a model, not a dataset')
    .option('--revision <revision>', 'branch, tag or commit (default: the newest of the main branch)')
    .option('--parquet-name <file>', 'only this parquet file, by its path or the last part of it')
    .option('--tasks', 'only tasks: unpacked from parquet files, or the folders that have a task.toml')
    .option('-o, --out <dir>', 'folder to make (default: the name of the dataset)')
    .option('--overwrite', 'replace a folder that is there')
    .option('--max-gb <n>', 'refuse downloads of more than this many GB', factor, 100)
    .option('--max-file-mb <n>', 'skip files of more than this many MB, such as a model’s weights', factor)
    .option('--dry-run', 'print what would be fetched, and fetch nothing')
    .option('--json', 'print the result as JSON')
    .action(async (dataset, options) => {
      const type = options.model ? 'model' : 'dataset'
      const target = parseTarget(dataset, type)
      const out = options.out ?? basename(target.kind === 'hub' ? target.repo : target.path)
      const interrupt = interruptSignal()
      const { signal } = interrupt
      try {
        const repository = openRepository(target, { env: process.env, signal }, type)
        const all = await explainDisk(out, () => openSnapshot(repository, options.revision ?? null))
        const tasks = options.tasks ? chooseTaskFiles(all, options.parquetName ?? null) : null
        const chosen = tasks?.snapshot ?? chooseFiles(all, options)
        const how: DownloadOptions = {
          ...{ limitBytes: options.maxGb * 1e9, overwrite: options.overwrite ?? false, signal },
          onProgress: showProgress(chosen),
        }
        const fetch = async () =>
          tasks ? downloadTasks(tasks, out, how) : { wasThere: await downloadSnapshot(chosen, out, how), repeated: 0 }
        const done = options.dryRun ? null : await explainDisk(out, fetch)
        report(chosen, resolve(out), done, options.json ?? false)
      } finally {
        interrupt.stop()
      }
    })

interface Choice {
  readonly parquetName?: string | undefined
  readonly maxFileMb?: number | undefined
}

function chooseFiles(all: Snapshot, { parquetName, maxFileMb = Number.POSITIVE_INFINITY }: Choice): Snapshot {
  const named = parquetName === undefined ? all : chooseParquet(all, parquetName)
  return narrowed(named, ({ sizeBytes }) => sizeBytes <= maxFileMb * 1e6)
}

function showProgress({ files, bytes }: Snapshot): NonNullable<DownloadOptions['onProgress']> {
  const tick = makeTicker()
  return (done) => tick(`${done.files} of ${files.length} files, ${megabytes(done.bytes)} of ${megabytes(bytes)}`)
}

function report(
  { repository, commit, files, bytes }: Snapshot,
  out: string,
  done: { readonly wasThere: boolean; readonly repeated: number } | null,
  json: boolean,
): void {
  const { name } = repository
  if (json) {
    const paths = files.map(({ path }) => path)
    printJson({
      schema: 'hub-download/1',
      repository: name,
      commit,
      out,
      dryRun: done === null,
      ...done,
      files: paths,
      bytes,
    })
    return
  }
  if (done === null)
    for (const { path, sizeBytes } of files) process.stdout.write(`${oneLine(path)}  ${megabytes(sizeBytes)}\n`)
  if (done && done.repeated > 0) note(`${done.repeated} tasks came in more than one file; the first of each counts`)
  const verb = done === null ? 'would download' : done.wasThere ? 'there already' : 'downloaded'
  process.stdout.write(
    `${verb}: ${files.length} files, ${megabytes(bytes)}, of ${name} at ${commit.slice(0, 12)}: ${out}\n`,
  )
}
