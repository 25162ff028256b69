import { resolve } from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { withDataset } from '../../app/hub/prepare.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { parseTarget } from '../../formats/hub/target.ts'
import { type Uploaded, uploadFolder } from '../../formats/hub/upload.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { version } from '../../lib/version.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent hub upload`: a folder becomes a dataset, or a part of one. */
export default () =>
  new Command()
    .description(
      'Uploads a folder to a dataset of the Hugging Face Hub: a folder of tasks is packed into one parquet file, anything else goes as it is.\n' +
        'Files that are there already are not sent again, so the same command resumes after an interruption. The token comes from HF_TOKEN.',
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
    .action(async (dir, dataset, options) => {
      const type = options.model ? 'model' : 'dataset'
      const target = parseTarget(dataset, type)
      const interrupt = interruptSignal()
      const { signal } = interrupt
      const tick = makeTicker()
      try {
        const done = await explainDisk(dir, () =>
          withDataset(
            resolve(dir),
            { packed: !options.unpacked && !options.model, signal },
            ({ dir: ready, kind, lineage }) =>
              uploadFolder({
                ...{
                  repository: openRepository(target, { env: process.env, signal }, type),
                  dir: ready,
                  kind,
                  lineage,
                },
                ...{ replace: options.replace ?? false, isPrivate: !options.public },
                ...{ message: options.message ?? `Upload with ot-agent ${version()}`, branch: options.revision },
                ...{ madeBy: `ot-agent ${version()}`, dryRun: options.dryRun ?? false },
                onProgress: (path, share) => tick(`${oneLine(path)}: ${Math.floor(share * 100)} %`),
              }),
          ),
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
