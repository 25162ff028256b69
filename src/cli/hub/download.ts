import { Command } from '@commander-js/extra-typings'
import { factor } from '../../app/flags/values.ts'
import { type Downloaded, downloadFromHub } from '../../app/hub/download.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent hub download`: downloads a dataset, or its tasks, into a folder. */
export default () =>
  new Command()
    .description(
      'Downloads a dataset from the Hugging Face Hub into a folder, and checks every file against its digest. The folder ' +
        'appears only once it is complete.\n' +
        'After an interruption, run the same command again to resume. Private datasets need a token: HF_TOKEN, or hf auth ' +
        'login.',
    )
    .argument('<dataset>', 'org/name, or file:PATH for a folder laid out the same way')
    .option('--model', 'treat the repository as a model, not a dataset')
    .option('--revision <revision>', 'branch, tag or commit (default: the newest of the main branch)')
    .option('--parquet-name <file>', 'only this parquet file, by its path or the end of it')
    .option('--tasks', 'only tasks: unpacked from parquet files, or the folders that have a task.toml')
    .option('-o, --out <dir>', 'folder to create (default: the name of the dataset)')
    .option('--overwrite', 'replace an existing folder')
    .option('--max-gb <n>', 'refuse downloads of more than this many GB', factor, 100)
    .option('--max-file-mb <n>', 'skip files of more than this many MB, such as a model’s weights', factor)
    .option('--dry-run', 'print what would be fetched, and fetch nothing')
    .option('--json', 'print the result as JSON')
    .action(async (repository, options) => {
      const { revision, parquetName, out, maxFileMb, json = false } = options
      const interrupt = interruptSignal()
      const tick = makeTicker()
      try {
        const downloaded = await downloadFromHub(
          {
            ...{ repository, type: options.model ? 'model' : 'dataset', revision, parquetName, out },
            ...{
              tasks: options.tasks ?? false,
              overwrite: options.overwrite ?? false,
              dryRun: options.dryRun ?? false,
            },
            limitBytes: options.maxGb * 1e9,
            limitFileBytes: maxFileMb === undefined ? undefined : maxFileMb * 1e6,
          },
          {
            signal: interrupt.signal,
            onProgress: ({ done, total }) =>
              tick(`${done.files} of ${total.files} files, ${megabytes(done.bytes)} of ${megabytes(total.bytes)}`),
          },
        )
        report(downloaded, json)
      } finally {
        interrupt.stop()
      }
    })

function report({ repository, commit, out, files, bytes, done }: Downloaded, json: boolean): void {
  if (json) {
    const paths = files.map(({ path }) => path)
    const about = { repository, commit, out, dryRun: done === null, ...done, files: paths, bytes }
    printJson({ schema: 'hub-download/1', ...about })
    return
  }
  if (done === null)
    for (const { path, sizeBytes } of files) process.stdout.write(`${oneLine(path)}  ${megabytes(sizeBytes)}\n`)
  if (done && done.repeated > 0)
    note(`${done.repeated} tasks occur in more than one file; the first copy of each is used`)
  const verb = done === null ? 'would download' : done.wasThere ? 'already there' : 'downloaded'
  process.stdout.write(
    `${verb}: ${files.length} files, ${megabytes(bytes)}, of ${repository} at ${commit.slice(0, 12)}: ${out}\n`,
  )
}
