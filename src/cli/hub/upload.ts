import { Command, Option } from '@commander-js/extra-typings'
import { type Uploaded, uploadToHub } from '../../app/hub/upload.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent hub upload`: a folder becomes a dataset, or a part of one. */
export default () =>
  new Command()
    .description(
      'Uploads a folder to a dataset of the Hugging Face Hub: a folder of tasks is packed into one parquet file, anything else goes as it is.\n' +
        'Files that are there already are not sent again, so the same command resumes after an interruption. The token comes from HF_TOKEN or from hf auth login.',
    )
    .argument('<dir>', 'a folder of tasks, a dataset that traces export wrote, or any other folder')
    .argument('<dataset>', 'org/name, or file:PATH for a folder laid out the same way')
    .option('--model', 'it is a model, not a dataset')
    .addOption(new Option('--private', 'make a new dataset private (default)').conflicts('public'))
    .option('--public', 'make a new dataset public')
    .option('--replace', 'remove everything else in the dataset; without it data files are added beside those there')
    .option('--unpacked', 'tasks as folders instead of a parquet file; the Hub forgets which files are executable')
    .option('-m, --message <text>', 'message of the commit')
    .option('--revision <branch>', 'branch to write to', 'main')
    .option('--dry-run', 'print what would be sent, and send nothing')
    .option('--json', 'print the result as JSON')
    .action(async (dir, repository, options) => {
      const interrupt = interruptSignal()
      const tick = makeTicker()
      try {
        const done = await uploadToHub(
          {
            ...{ dir, repository, type: options.model ? 'model' : 'dataset', isPrivate: !options.public },
            ...{ replace: options.replace ?? false, packed: !options.unpacked && !options.model },
            ...{ message: options.message, branch: options.revision, dryRun: options.dryRun ?? false },
          },
          {
            signal: interrupt.signal,
            onProgress: ({ done, total }) =>
              tick(`${done.files} of ${total.files} files, ${megabytes(done.bytes)} of ${megabytes(total.bytes)}`),
          },
        )
        report(done, options)
      } finally {
        interrupt.stop()
      }
    })

function report(done: Uploaded, { json, dryRun }: { json?: true | undefined; dryRun?: true | undefined }): void {
  if (json) {
    printJson({ schema: 'hub-upload/1', dryRun: dryRun ?? false, ...done })
    return
  }
  for (const path of done.leftOut) note(`left out, hidden or a link: ${oneLine(path)}`)
  if (!done.compared) note('the Hub could not be reached: every file counts as new')
  if (dryRun) {
    for (const path of done.added) process.stdout.write(`would add ${oneLine(path)}\n`)
    for (const path of done.removed) process.stdout.write(`would remove ${oneLine(path)}\n`)
  }
  const { repository, added, removed, same, bytes, rows, url } = done
  const gone = removed.length > 0 ? `, ${removed.length} removed` : ''
  const verb = dryRun ? 'would upload' : 'uploaded'
  process.stdout.write(
    `${verb} ${added.length} files, ${megabytes(bytes)}, ${rows} rows (${same} were there${gone}): ${url ?? repository}\n`,
  )
}
