import { readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { LaunchJob } from '../../core/launch.ts'
import { exists } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { jsonOrText } from '../../lib/parse-json.ts'
import { dashed } from '../../lib/shell.ts'
import { configsOf, type PlanContext } from '../../run/launch/plan.ts'
import { type DatagenRequest, type ModelUse, planDatagen } from '../../run/launch/plan-datagen.ts'
import { flagOf, type Settings } from '../../run/launch/settings.ts'
import { runsTests } from '../generate/lacks-judge.ts'
import { loadPipelineFile, shippedPipeline } from '../generate/load-pipeline.ts'
import { unjudged } from '../job/judge.ts'
import { type ChosenEngine, chooseEngineFile, refuseLongContext } from './engine.ts'
import { judgeWords, refuseUnjudgedFolder } from './judge.ts'
import { expectFolder, tasksPlace } from './local-paths.ts'

/** The jobs of a launch and the files they read. */
export interface PlannedJobs {
  readonly jobs: readonly LaunchJob[]
  readonly files: Readonly<Record<string, string>>
  /** Notes for the user. */
  readonly notes: readonly string[]
}

/** Turns settings into the jobs that make tasks and traces. */
export async function datagenJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const extra = withoutStage(settings)
  const { tasks: makesTasks, traces: makesTraces } = stagesOf(settings)
  const script = await pipelineOf(settings, makesTasks ? 'datagen_script' : 'trace_script')
  const tracesScript = settings.has('trace_script') ? await pipelineOf(settings, 'trace_script') : script
  const judge = judgeWords(settings)
  const traces = makesTraces ? [...traceWords(settings), ...judge, ...(makesTasks ? [] : extra)] : null
  if (traces && (await lacksJudge(traces))) await refuseUnjudgedTasks(settings, makesTasks ? script : null)
  const taskEngine = await engineOf(at, settings, 'datagen')
  const hasOwn = settings.has('trace_engine') || settings.has('trace_backend')
  const traceEngine = (hasOwn ? await engineOf(at, settings, 'trace') : null) ?? taskEngine
  const input = settings.text('trace_input_path')
  if (input !== undefined) await expectFolder(settings, 'trace_input_path', resolve(input))
  const running = settings.has('trace_endpoint_json')
  const tasksModel = makesTasks ? modelOf(taskEngine) : null
  const tracesModel = makesTraces && !running ? modelOf(traceEngine) : null
  const isShared = tasksModel?.from === 'server' && tracesModel?.from === 'server'
  const sharing = isShared ? shareServer(taskEngine, traceEngine) : []
  const serving = tasksModel?.from === 'server' ? taskEngine : tracesModel?.from === 'server' ? traceEngine : null
  const agentOptions = jsonOrText(settings.text('trace_agent_kwargs') ?? '')
  if (traces) refuseLongContext(isShared ? taskEngine : traceEngine, agentOptions, '--trace-agent-kwargs')
  const chunks = makesTraces ? await chunksOf(settings, extra, traceEngine) : null
  // Parts are joined from all trials in the directory, so it must not contain those of another launch.
  const traceJobs = join(at.experimentsDir, 'trace_jobs', chunks ? at.launchId : '')
  const request: DatagenRequest = {
    script,
    tracesScript,
    tracesGpu: settings.is('trace_use_gpu'),
    tasks: makesTasks ? [...taskWords(settings), ...judge, ...(await sourceWords(script, extra)), ...extra] : null,
    traces,
    tasksInput: input === undefined ? null : resolve(input),
    fetch: fetchOf(settings, at),
    server: serving?.server ?? null,
    tasksModel,
    tracesModel,
    tasksOut: resolve(settings.text('datagen_output_dir') ?? join(at.experimentsDir, 'outputs/tasks')),
    tracesOut: resolve(settings.text('trace_output_dir') ?? join(at.experimentsDir, 'outputs/traces')),
    traceJobs: resolve(settings.text('trace_jobs_dir') ?? traceJobs),
    chunks,
    ...targetsOf(settings, makesTasks),
  }
  const engines = [taskEngine, traceEngine].filter((each): each is ChosenEngine => each !== null)
  return {
    jobs: planDatagen(at, request),
    files: Object.fromEntries(engines.map(({ path, text }) => [path, text])),
    notes: [
      ...(at.cluster.internetOnComputeNodes
        ? []
        : [
            `compute nodes of ${at.cluster.name} have no internet: sources and uploads must be reachable through its proxy`,
          ]),
      ...sharing,
      ...(makesTraces ? await notesOfFiles(settings, extra) : []),
    ],
  }
}

/**
 * Refuses two different engines: a launch has one server, and agents would silently run on the model that made the
 * tasks.
 */
function shareServer(tasks: ChosenEngine | null, traces: ChosenEngine | null): readonly string[] {
  if (tasks?.text === traces?.text) return []
  if (tasks?.server?.model === traces?.server?.model && tasks?.weights === traces?.weights)
    return ['tasks and traces share one server, which is started with the engine file of the tasks']
  const shown = (engine: ChosenEngine | null) => {
    const name = engine?.server?.model
    return name === engine?.weights ? name : `${name} (${engine?.weights})`
  }
  throw new UserError(
    `expected one model to serve, got ${shown(tasks)} for tasks and ${shown(traces)} for traces`,
    'launch the tasks first, and then the traces with --trace-input-path; or pass a running server with --trace-endpoint-json',
  )
}

/** Files and directories per trial in the directory layout. */
const inodesOfTrial = 11
/** A common inode quota on clusters. */
const usualInodes = 1_000_000

/** Warns if there will be more files than many clusters allow. */
async function notesOfFiles(settings: Settings, extra: readonly string[]): Promise<readonly string[]> {
  // A missing folder is reported where it is read.
  const tasks = await countTasks(settings, extra).catch(() => 0)
  const trials = (tasks ?? 0) * (settings.number('trace_n_attempts') ?? 1)
  if (settings.text('trace_store') === 'packed' || !(trials * inodesOfTrial >= usualInodes)) return []
  const million = (trials * inodesOfTrial) / 1e6
  return [
    `${trials} trials are about ${million.toFixed(1)} million files and directories; --trace-store packed writes a few files per job`,
  ]
}

/** Whether traces generated with these arguments lack a judge. */
async function lacksJudge(given: readonly string[]): Promise<boolean> {
  const words = given.map(dashed)
  if (words.some((word) => /^--(judge-model(=.*)?|disable-verification)$/s.test(word))) return false
  const at = words.findLastIndex((word) => /^--trace-harbor-config(=|$)/.test(word))
  const [flag, value] = [words[at], words[at + 1]]
  const path = flag === '--trace-harbor-config' ? value : flag?.slice('--trace-harbor-config='.length)
  return runsTests({ traceHarborConfig: at < 0 ? undefined : path })
}

/** Refuses judged tasks without a judge, going by the pipeline that makes the tasks or the folder they are in. */
async function refuseUnjudgedTasks(settings: Settings, script: string | null): Promise<void> {
  const input = settings.text('trace_input_path')
  if (input !== undefined) return refuseUnjudgedFolder(resolve(input))
  if (script === null) return
  const { pipeline } = await loadPipelineFile(script)
  if (pipeline.judged) throw unjudged(`tasks of ${pipeline.name} are`)
}

function targetsOf(settings: Settings, makesTasks: boolean): Pick<DatagenRequest, 'tasksTarget' | 'tracesTarget'> {
  if (settings.words('datagen_extra_args').includes('--no-upload')) return { tasksTarget: null, tracesTarget: null }
  const tracesTarget = settings.text('trace_target_repo') ?? null
  if (!makesTasks) return { tasksTarget: null, tracesTarget }
  const why = 'pass the target for the tasks, org/name or file:PATH, or add --no-upload to --datagen-extra-args'
  return { tasksTarget: settings.required('datagen_target_repo', why), tracesTarget }
}

function modelOf(engine: ChosenEngine | null): ModelUse {
  return engine === null ? null : engine.server ? { from: 'server' } : { from: 'file', path: engine.path }
}

function fetchOf(settings: Settings, at: PlanContext): DatagenRequest['fetch'] {
  const repo = settings.text('tasks_repo')
  if (repo === undefined) return null
  const more = optional(settings, { tasks_revision: '--revision', parquet_name: '--parquet-name' })
  const again = settings.is('overwrite') ? ['--overwrite'] : []
  return { repo, dir: tasksPlace(at, basename(repo), [repo, ...more]), more: [...again, ...more] }
}

/** Which stages to run; `--stage both` among the extra arguments asks for both. */
function stagesOf(settings: Settings): { readonly tasks: boolean; readonly traces: boolean } {
  const words = settings.words('datagen_extra_args')
  const at = words.findIndex((word) => word === '--stage' || word.startsWith('--stage='))
  const stage = at < 0 ? null : words[at] === '--stage' ? words[at + 1] : words[at]?.slice('--stage='.length)
  const traces = settings.is('enable_trace_gen') || stage === 'both' || stage === 'traces' || settings.has('tasks_repo')
  const hasTasks = settings.has('trace_input_path') || settings.has('tasks_repo')
  const tasks = settings.is('enable_task_gen') && stage !== 'traces' && !hasTasks
  if (!tasks && !traces)
    throw new UserError(
      'expected tasks or traces to generate, got neither',
      'add --enable-trace-gen, or remove --enable-task-gen false',
    )
  return { tasks, traces }
}

function withoutStage(settings: Settings): string[] {
  const words = settings.words('datagen_extra_args')
  return words.filter(
    (word, i) =>
      word !== '--stage' && !word.startsWith('--stage=') && words[i - 1] !== '--stage' && word !== '--no-upload',
  )
}

/** Resolves a pipeline by file, or by name if it comes with the program; for one of the old Python files, looks up our name for it. */
async function pipelineOf(settings: Settings, name: 'datagen_script' | 'trace_script'): Promise<string> {
  const given = settings.text(name) ?? settings.text('datagen_script')
  // Any pipeline can run agents on existing tasks.
  if (given === undefined && name === 'trace_script') return join(packageRoot, 'data/nl2bash/generate.ts')
  const path = resolve(given ?? settings.required('datagen_script', 'for example --datagen-script nl2bash'))
  if (await exists(path)) return path
  const shipped = given === undefined ? null : await shippedPipeline(given)
  if (shipped !== null) return shipped
  for (const ours of [path.replace(/\.py$/, '.ts'), path.replace(/\/generate_abstract\.py$/, '/generate.ts')])
    if (await exists(ours)) return ours
  throw new UserError(
    `${flagOf(settings.has(name) ? name : 'datagen_script')}: expected a pipeline, found none at ${given}`,
    'for example nl2bash',
  )
}

async function engineOf(at: PlanContext, settings: Settings, who: 'datagen' | 'trace'): Promise<ChosenEngine | null> {
  const config = settings.text('datagen_config')
  const model = settings.text('vllm_model_path')
  const named = settings.text(`${who}_engine`) ?? settings.text('datagen_engine')
  return chooseEngineFile(at, settings, {
    name: named ?? (model === undefined ? undefined : 'vllm_local'),
    config: who === 'datagen' || !settings.has('trace_engine') ? config : undefined,
    backend: settings.text(`${who}_backend`),
    set: [...settings.words('set'), ...(model === undefined ? [] : [`vllm_server.model_path=${model}`])],
    as: `${configsOf(at)}/${who === 'datagen' ? 'datagen_config' : 'trace_config'}.resolved.yaml`,
  })
}

function taskWords(settings: Settings): string[] {
  return [
    ...sandboxWords(settings),
    ...optional(settings, { datagen_input_dir: '--input-dir', task_type: '--task-type' }),
  ]
}

/** Launches default to the real source, if there is one, unlike trial runs. */
async function sourceWords(script: string, extra: readonly string[]): Promise<string[]> {
  if (extra.some((word) => word === '--source' || word.startsWith('--source='))) return []
  const { pipeline } = await loadPipelineFile(script)
  return pipeline.source.real !== null ? ['--source', 'real'] : []
}

function sandboxWords(settings: Settings): string[] {
  return optional(settings, {
    sandbox_cpu: '--sandbox-cpu',
    sandbox_memory_gb: '--sandbox-memory-gb',
    sandbox_disk_gb: '--sandbox-disk-gb',
    sandbox_gpu: '--sandbox-gpu',
  })
}

function traceWords(settings: Settings): string[] {
  const config = settings.text('trace_harbor_config')
  const endpoint = settings.text('trace_endpoint_json')
  return [
    ...(config === undefined ? [] : ['--trace-harbor-config', resolve(config)]),
    ...(endpoint === undefined ? [] : ['--endpoint-json', resolve(endpoint)]),
    ...sandboxWords(settings),
    ...optional(settings, {
      trace_model: '--trace-model',
      trace_agent_name: '--trace-agent-name',
      trace_agent_kwargs: '--trace-agent-kwargs',
      trace_n_concurrent: '--trace-n-concurrent',
      trace_n_attempts: '--trace-n-attempts',
      trace_env: '--trace-env',
      trace_store: '--trace-store',
      trace_episodes: '--trace-episodes',
      trace_export_filter: '--trace-export-filter',
      trace_dataset_type: '--trace-dataset-type',
      trace_agent_timeout_sec: '--trace-agent-timeout-sec',
      trace_verifier_timeout_sec: '--trace-verifier-timeout-sec',
    }),
    ...(settings.is('trace_export_subagents') ? [] : ['--trace-skip-subagents']),
    ...(settings.is('trace_eval_only') ? ['--trace-eval-only'] : []),
    ...(settings.is('disable_verification') ? ['--disable-verification'] : []),
  ]
}

function optional(settings: Settings, flags: Readonly<Record<string, string>>): string[] {
  return Object.entries(flags).flatMap(([name, flag]) => {
    const value = settings.text(name)
    return value === undefined ? [] : [flag, value]
  })
}

/** How many parts there are, from the folder of tasks or the limit. */
async function chunksOf(
  settings: Settings,
  extra: readonly string[],
  engine: ChosenEngine | null,
): Promise<DatagenRequest['chunks']> {
  const size = settings.number('chunk_size')
  if (size === undefined || size < 1) return null
  const tasks = await countTasks(settings, extra)
  if (tasks === undefined || !Number.isInteger(tasks) || tasks < 1)
    throw new UserError(
      '--chunk-size: expected a known number of tasks, got neither a folder of tasks nor a limit',
      'pass --trace-input-path DIR, or --datagen-extra-args "--limit N"',
    )
  return { count: Math.ceil(tasks / size), throttle: settings.number('array_max') ?? engine?.chunkArrayMax ?? 3 }
}

async function countTasks(settings: Settings, extra: readonly string[]): Promise<number | undefined> {
  const input = settings.text('trace_input_path')
  if (input !== undefined) return countFolders(input)
  const at = extra.findIndex((word) => word === '--limit' || word.startsWith('--limit='))
  return at < 0 ? undefined : Number(extra[at] === '--limit' ? extra[at + 1] : extra[at]?.slice('--limit='.length))
}

async function countFolders(dir: string): Promise<number> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => {
    throw new UserError(`--trace-input-path: expected a folder of tasks, found none at ${dir}`, 'check the path')
  })
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).length
}
