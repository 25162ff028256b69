import type { JobDependency, LaunchJob, ScriptPiece } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'
import { runOurs, runProgram } from './pieces.ts'
import { cpuResources, makeJob, type PlanContext, placeWithInternet } from './plan.ts'

/** Something to download before training: a dataset or a model. */
export interface Download {
  readonly repo: string
  readonly dir: string
  readonly type: 'dataset' | 'model'
  /** Without the weights. */
  readonly smallOnly?: boolean
}

/** The job that downloads what compute nodes cannot; none if there is nothing to download. */
export function planDownload(at: PlanContext, downloads: readonly Download[]): readonly LaunchJob[] {
  if (downloads.length === 0) return []
  const pieces = downloads.map(({ repo, dir, type, smallOnly = false }) =>
    runOurs(smallOnly ? `the small files of ${repo}` : `the ${type} ${repo}`, [
      ...['hub', 'download', repo, ...(type === 'model' ? ['--model'] : []), '--out', dir],
      ...['--overwrite', ...(smallOnly ? ['--max-file-mb', '50'] : ['--max-gb', '5000'])],
    ]),
  )
  const summary = `download ${downloads.map(({ repo }) => repo).join(', ')}`
  const place = placeWithInternet(at)
  return [makeJob(at, { name: 'download', summary, place, resources: cpuResources(at, 4, 16), pieces })]
}

/** What a sharded checkpoint is turned into. */
export interface Consolidation {
  readonly input: string
  readonly out: string
  /** Where to take small files that the checkpoint lacks from. */
  readonly base: string | null
  readonly after: readonly JobDependency[]
}

/** Runs the DeepSpeed script named first, which would pass tied weights to safetensors unchanged. */
const eachWritten = [
  "each_written='import runpy, sys",
  'from safetensors import torch as files',
  'save, sys.argv = files.save_file, sys.argv[1:]',
  'def save_each(weights, *args, **kwargs):',
  '    seen = set()',
  '    for name, weight in weights.items():',
  '        weights[name] = weight.clone() if weight.data_ptr() in seen else weight',
  '        seen.add(weight.data_ptr())',
  '    save(weights, *args, **kwargs)',
  'files.save_file = save_each',
  `runpy.run_path(sys.argv[0], run_name="__main__")'`,
]

/** The job that consolidates the newest sharded checkpoint of a directory. */
export function planConsolidate(at: PlanContext, { input, out, base, after }: Consolidation): LaunchJob {
  const small = ['json', 'jsonl', 'jinja', 'txt', 'model'].map((end) => `-name '*.${end}'`).join(' -o ')
  const places = ['"$from"', '"$input"', ...(base === null ? [] : [shellQuote(base)])].join(' ')
  const copy = `! -name '*.index.json' ! -name '.*' -exec cp -n {} ${shellQuote(out)} \\;`
  return makeJob(at, {
    name: 'consolidate',
    summary: 'merge the shards into one model',
    resources: cpuResources(at, at.cluster.cpusPerNode, at.cluster.memoryPerNodeGb ?? 128),
    after,
    foreign: true,
    pieces: [
      {
        about: 'the newest checkpoint, and where it goes',
        lines: [
          `input=${shellQuote(input)}`,
          'from="$input"',
          `if [ ! -e "$from/zero_to_fp32.py" ]; then from="$(find "$input" -maxdepth 1 -type d -name 'checkpoint-*' | sort -V | tail -n 1)"; fi`,
          `if [ ! -e "$from/zero_to_fp32.py" ]; then note "expected a sharded checkpoint in $input, found none"; exit 66; fi`,
          `mkdir -p ${shellQuote(out)}`,
        ],
      },
      {
        about: 'each weight is written, also tied embeddings, which safetensors would refuse for sharing memory',
        lines: eachWritten,
      },
      runProgram('merge the shards into one model', [
        ...['python', '-c'],
        { raw: '"$each_written" "$from/zero_to_fp32.py" "$from"' },
        out,
        '--safe_serialization',
      ]),
      {
        about: 'the small files beside the weights',
        lines: [`find ${places} -maxdepth 1 -type f \\( ${small} \\) ${copy}`],
      },
    ],
  })
}

/** Where a model is published once earlier jobs are done; earlier pieces may work out `dir` in the job. */
export interface ModelUpload {
  readonly dir: string | { readonly raw: string }
  readonly target: string
  readonly message?: string | undefined
  readonly after: string
  readonly before?: readonly ScriptPiece[]
  /** The summary of the training run, if there is one. */
  readonly summaryFile: string
}

/** The job that publishes a model, so that no login shell has to stay open. */
export function planModelUpload(at: PlanContext, upload: ModelUpload): LaunchJob {
  const { dir, target, message, after, before = [], summaryFile } = upload
  return makeJob(at, {
    name: 'upload',
    summary: `publish to ${target}`,
    place: at.cluster.internetOnComputeNodes || !at.cluster.internetJobs ? null : 'internet',
    resources: cpuResources(at, 4, 16),
    after: [{ job: after, when: 'ok' }],
    pieces: [
      ...before,
      runOurs('publish', [
        ...['hub', 'upload', dir, target, '--model'],
        ...(message === undefined ? [] : ['--message', message]),
      ]),
      register(summaryFile, target),
    ],
  })
}

/** Only the job knows whether there is a registry: its address may hold a password, and is then in the file of keys. */
function register(summaryFile: string, target: string): ScriptPiece {
  const file = shellQuote(summaryFile)
  const ingest = `"\${ot_agent[@]}" registry ingest ${file} --weights ${shellQuote(target)}`
  return {
    about: 'register the model, where OT_AGENT_REGISTRY names a registry',
    lines: [
      `if [ -n "\${OT_AGENT_REGISTRY:-}" ] && [ -e ${file} ]; then`,
      `  ${ingest} || note 'the model was published, and not registered'`,
      'fi',
    ],
  }
}

/** Runs that a training job records where there is no internet. */
export interface OfflineRuns {
  /** Where its `wandb` folder is. */
  readonly dir: string
  /** Whether `WANDB_DIR` may override it. */
  readonly isMovable: boolean
  /** Which job records them. */
  readonly after: string
}

/** Sends runs recorded offline to Weights & Biases, in a job with internet; if there is none, a note says how to. */
export function planSync(at: PlanContext, { dir, isMovable, after }: OfflineRuns) {
  if (at.cluster.internetOnComputeNodes) return { jobs: [], notes: [] }
  if (!at.cluster.internetJobs) {
    const command = `wandb sync ${shellQuote(dir)}/wandb/offline-run-*`
    return { jobs: [], notes: [`the W&B run is recorded offline; after training, run ${command}`] }
  }
  const job = makeJob(at, {
    name: 'sync',
    summary: 'send the offline run to Weights & Biases',
    place: 'internet',
    resources: cpuResources(at, 2, 8),
    after: [{ job: after, when: 'ok' }],
    foreign: true,
    pieces: [
      {
        about: 'every run that was recorded, restarts included',
        lines: [
          `kept=${shellQuote(dir)}`,
          ...(isMovable ? [`kept="\${WANDB_DIR:-$kept}"`] : []),
          'runs=("$kept"/wandb/offline-run-*)',
          // Without a match, the pattern stays as it is.
          `if [ ! -e "\${runs[0]}" ]; then note 'no offline run is there'; exit 66; fi`,
          `run env -u WANDB_MODE wandb sync "\${runs[@]}"`,
        ],
      },
    ],
  })
  return { jobs: [job], notes: [] }
}
