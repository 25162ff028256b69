import type { JobDependency, JobResources, LaunchJob, ScriptPiece } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'
import { runProgram } from './pieces.ts'
import { launchDirOf, makeJob, type PlanContext } from './plan.ts'
import { startRay } from './plan-server.ts'

/** A directory that launches share. Each makes its own draft, and the first complete one becomes the result. */
export interface SharedResult {
  readonly dir: string
  /** Where this launch makes it, on the same disk: `dir`, a dot, and a suffix unique to the launch. */
  readonly draft: string
}

/** A third-party program that trains, on one node or on many. */
export interface TrainingRequest {
  readonly name: string
  readonly summary: string
  /** Words that begin with `$` are variables of the job; all others are literal. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly nodes: number
  readonly gpusPerNode: number
  readonly after: readonly JobDependency[]
  /** A container image to run in; null runs on the node. */
  readonly image: string | null
  /** `node`: the same command on every node; the nodes find each other. `ray`: once, on the head of a Ray cluster. */
  readonly spread: 'node' | 'ray'
  /** What the work makes, shared by all launches: work that one of them has done is not repeated. */
  readonly once?: SharedResult | undefined
  /** What to record about the run when it ends, however it ends; null for a step that is not a run of its own. */
  readonly summarize: { readonly factsFile: string; readonly outputDir: string } | null
}

/** The job that trains. */
export function planTraining(at: PlanContext, request: TrainingRequest): LaunchJob {
  const { cluster } = at
  const resources: JobResources = {
    nodes: request.nodes,
    gpusPerNode: request.gpusPerNode,
    cpusPerNode: cluster.cpusPerNode,
    memoryGb: cluster.memoryPerNodeGb ?? null,
    timeLimit: at.timeLimit,
  }
  const line = inContainer(at, request, request.command.map(wordOf).join(' '))
  const isSpread = request.nodes > 1 && request.spread === 'node' && cluster.scheduler === 'slurm'
  const words = isSpread
    ? ['srun', `--nodes=${request.nodes}`, '--ntasks-per-node=1', '--kill-on-bad-exit=1', 'bash', '-c', `exec ${line}`]
    : ['bash', '-c', `exec ${line}`]
  const ray =
    request.spread === 'ray' && request.nodes > 1 ? [startRay({ port: 0, variables: {} }, resources, cluster.ray)] : []
  const work = runProgram(request.summary, words)
  const { once, summarize } = request
  return makeJob(at, {
    name: request.name,
    summary: request.summary,
    resources,
    after: request.after,
    foreign: true,
    pieces: [
      ...(once ? [skipIfMade(once)] : []),
      meeting,
      keepCaches(at),
      ...variables(request.env),
      ...ray,
      ...(summarize ? summarized(work, summarize) : once ? shared(work, once) : [work]),
    ],
  })
}

function skipIfMade({ dir }: SharedResult): ScriptPiece {
  return {
    about: 'whether another launch has done it',
    lines: [
      `if [ -d ${shellQuote(dir)} ]; then note 'another launch has made it'; ${removeDrafts(dir)}; over=1; exit 0; fi`,
    ],
  }
}

/**
 * A replaced job leaves the draft to its successor. The rename succeeds for one launch only: it never replaces a
 * non-empty directory.
 */
function shared(work: ScriptPiece, { dir, draft }: SharedResult): readonly ScriptPiece[] {
  const [to, from] = [shellQuote(dir), shellQuote(draft)]
  return [
    { about: 'what an interrupted try left', lines: [`rm -rf -- ${from}`] },
    {
      ...work,
      lines: orElse(work, `{ code=$?; is_replaced || rm -rf -- ${from}; [ -d ${to} ] || exit "$code"; }`),
    },
    {
      about: 'share it',
      lines: [
        'if is_replaced; then exit 75; fi',
        `if ! mv -T -- ${from} ${to}; then`,
        `  [ -d ${to} ] || exit 1`,
        "  note 'another launch was faster; its result is used'",
        'fi',
        removeDrafts(dir),
      ],
    },
  ]
}

/**
 * Once the result exists, no draft of it is needed: killed launches left theirs behind, and a launch still at work
 * takes the result if its own work fails because its draft is gone. A draft being written at this moment may remain.
 */
function removeDrafts(dir: string): string {
  return `rm -rf -- ${shellQuote(`${dir}.`)}* 2> /dev/null || true`
}

/** The lines of the work, with what happens when it fails. */
function orElse({ lines }: ScriptPiece, otherwise: string): readonly string[] {
  return lines.map((line, i) => (i < lines.length - 1 ? line : `${line} || ${otherwise}`))
}

/** Records when the work began and how it ended, writes the summary, and only then exits as the work did. */
function summarized(
  work: ScriptPiece,
  { factsFile, outputDir }: NonNullable<TrainingRequest['summarize']>,
): readonly ScriptPiece[] {
  const words = ['--facts', shellQuote(factsFile), '--output-dir', shellQuote(outputDir)]
  const found = ['--started', '"$started"', '--exit-code', '"$code"', '--reason', '"$reason"']
  return [
    { about: 'when it begins', lines: ['started="$(date -u +%FT%TZ)" code=0'] },
    { ...work, lines: orElse(work, 'code=$?') },
    {
      about: 'record the outcome, however it ended',
      lines: [
        `"\${ot_agent[@]}" launch summary ${[...words, ...found].join(' ')} || note 'no summary of the run was written'`,
        'if [ "$code" != 0 ]; then exit "$code"; fi',
      ],
    },
  ]
}

/** Where a job's nodes find each other; each job has its own port, so that jobs on one node do not collide. */
const meeting: ScriptPiece = {
  about: 'where the nodes meet',
  lines: [
    `if [ -n "\${SLURM_JOB_NODELIST:-}" ]; then MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"; else MASTER_ADDR=127.0.0.1; fi`,
    `MASTER_PORT=$((20000 + \${SLURM_JOB_ID:-$$} % 20000))`,
    'export MASTER_ADDR MASTER_PORT',
    `export SLURM_NODEID="\${SLURM_NODEID:-0}"`,
  ],
}

/**
 * Puts what trainers keep besides their results below the experiments directory, never into the directory of the launch
 * command; explicit settings win. Launches share downloads, and use an existing login or model.
 */
function keepCaches(at: PlanContext): ScriptPiece {
  const own = `${launchDirOf(at)}/cache`
  const unless = (name: string, dir: string) => `if [ -z "\${${name}:-}" ]; then export ${name}=${shellQuote(dir)}; fi`
  const home = '"$HOME/.cache/huggingface'
  return {
    about: 'where trainers keep what is no result',
    lines: [
      `if [ -z "\${HF_HOME:-}" ]; then`,
      `  if [ -e ${home}/token" ]; then export HF_TOKEN_PATH="\${HF_TOKEN_PATH:-$HOME/.cache/huggingface/token}"; fi`,
      `  if [ -d ${home}/hub" ]; then export HF_HUB_CACHE="\${HF_HUB_CACHE:-$HOME/.cache/huggingface/hub}"; fi`,
      `  export HF_HOME=${shellQuote(`${at.experimentsDir}/cache/huggingface`)}`,
      'fi',
      ...Object.entries({
        WANDB_DIR: launchDirOf(at),
        WANDB_CACHE_DIR: `${own}/wandb`,
        WANDB_DATA_DIR: `${own}/wandb`,
        TRITON_CACHE_DIR: `${own}/triton`,
        TORCHINDUCTOR_CACHE_DIR: `${own}/inductor`,
        TORCH_EXTENSIONS_DIR: `${own}/extensions`,
      }).map(([name, dir]) => unless(name, dir)),
      'mkdir -p "$HF_HOME" "$WANDB_DIR"',
    ],
  }
}

function variables(env: Readonly<Record<string, string>>): ScriptPiece[] {
  const lines = Object.entries(env).map(([name, value]) => `export ${name}=${shellQuote(value)}`)
  return lines.length === 0 ? [] : [{ about: 'variables of the training', lines }]
}

function wordOf(word: string): string {
  return /^\$[A-Z_]+$/.test(word) ? `"${word}"` : shellQuote(word)
}

function inContainer({ cluster, experimentsDir }: PlanContext, { image }: TrainingRequest, line: string): string {
  if (image === null) return line
  const runtime = cluster.containerRuntime === 'none' ? 'apptainer' : cluster.containerRuntime
  return `${runtime} exec --nv --bind ${shellQuote(experimentsDir)} ${shellQuote(image)} bash -c ${shellQuote(`exec ${line}`)}`
}
