import { Command, Option } from '@commander-js/extra-typings'
import { type Uploaded, uploadToHub } from '../../app/hub/upload.ts'
import { ingest } from '../../app/registry/ingest.ts'
import { type RegistryPlace, registryAddress } from '../../app/registry/open.ts'
import { messageOf } from '../../core/errors.ts'
import { programName } from '../../lib/program-name.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { registryEnvOption, registryOption } from '../registry/place.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent hub upload`: uploads a folder as a dataset, or as part of one. */
export default () =>
  new Command()
    .description(
      'Uploads a folder to a dataset on the Hugging Face Hub. A folder of tasks, a job or a folder of jobs is packed into one ' +
        'parquet file, with a row for each task or trial; any other folder is uploaded as it is.\n' +
        'Files that the dataset already has are not sent again, so the same command resumes after an interruption. The token ' +
        'comes from HF_TOKEN or hf auth login.',
    )
    .argument('<dir>', 'a folder of tasks, a dataset that traces export wrote, a job, or any other folder')
    .argument('<dataset>', 'org/name, or file:PATH for a folder laid out the same way')
    .option('--model', 'treat the repository as a model, not a dataset')
    .addOption(new Option('--private', 'make a new dataset private (default)').conflicts('public'))
    .option('--public', 'make a new dataset public')
    .option('--replace', 'remove everything else in the dataset; without it data files are added to the existing ones')
    .option(
      '--unpacked',
      'upload tasks and jobs as folders instead of a parquet file; the Hub does not keep which files are executable',
    )
    .option('-m, --message <text>', 'commit message')
    .option('--revision <branch>', 'branch to write to', 'main')
    .option('--register', 'also register it: a dataset, jobs, or a model by its run_summary.json')
    .addOption(
      new Option('--dataset-type <type>', 'with --register: what the traces are for')
        .choices(['SFT', 'RL'] as const)
        .default('SFT' as const),
    )
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--dry-run', 'print what would be sent, and send nothing')
    .option('--json', 'print the result as JSON')
    .action(async (dir, repository, options) => {
      const { registry, registryEnv } = options
      // Report an invalid registry address before sending anything.
      if (options.register) registryAddress({ registry, registryEnv })
      const interrupt = interruptSignal()
      const tick = makeTicker()
      const { datasetType: type, model: isModel = false, public: isPublic = false } = options
      const about = { dir, type, isModel, isPublic }
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
            ...(options.register && {
              onDone: (sent, done) => enter({ ...about, sent, done }, { registry, registryEnv }),
            }),
          },
        )
        report(done, options)
      } finally {
        interrupt.stop()
      }
    })

interface Sent {
  readonly dir: string
  readonly type: 'SFT' | 'RL'
  readonly isModel: boolean
  readonly isPublic: boolean
  readonly sent: { readonly dir: string; readonly kind: 'tasks' | 'jobs' | 'files' }
  readonly done: Uploaded
}

/**
 * Registers what was uploaded. If that fails, the upload still stands: the error is reported and the exit code is 3.
 */
async function enter({ dir, type, isModel, isPublic, sent, done }: Sent, place: RegistryPlace): Promise<void> {
  const { repository, commit } = done
  const isOnHub = !repository.startsWith('file:')
  const what = isModel
    ? { from: [dir], weights: repository }
    : sent.kind === 'jobs'
      ? { from: [dir], ...(isOnHub && { traces: repository }) }
      : {
          from: [sent.dir],
          name: repository,
          dataset: {
            ...{ type: sent.kind === 'tasks' ? ('tasks' as const) : type, location: repository },
            ...(commit !== null && { commit }),
          },
        }
  try {
    const { ingested } = await ingest({ ...what, ...place, isPublic })
    for (const { kind, name } of ingested) note(`registered ${kind} ${oneLine(name)}`)
  } catch (error) {
    process.exitCode = 3
    note(`warning: it was uploaded, but not registered: ${messageOf(error)}`)
    note(`hint: ${programName()} registry ingest ${dir} registers it`)
  }
}

function report(done: Uploaded, { json, dryRun }: { json?: true | undefined; dryRun?: true | undefined }): void {
  if (json) {
    printJson({ schema: 'hub-upload/1', dryRun: dryRun ?? false, ...done })
    return
  }
  for (const path of done.leftOut) note(`skipped (hidden, a link or unfinished): ${oneLine(path)}`)
  if (!done.compared) note('the Hub could not be reached: assuming that every file is new')
  if (dryRun) {
    for (const path of done.added) process.stdout.write(`would add ${oneLine(path)}\n`)
    for (const path of done.removed) process.stdout.write(`would remove ${oneLine(path)}\n`)
  }
  const { repository, added, removed, same, bytes, rows, url } = done
  const gone = removed.length > 0 ? `, ${removed.length} removed` : ''
  const verb = dryRun ? 'would upload' : 'uploaded'
  process.stdout.write(
    `${verb} ${added.length} files, ${megabytes(bytes)}, ${rows} rows (${same} already there${gone}): ${url ?? repository}\n`,
  )
}
