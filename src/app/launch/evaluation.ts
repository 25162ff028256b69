import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { LaunchJob } from '../../core/launch.ts'
import { exists } from '../../lib/files.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { runOurs } from '../../run/launch/pieces.ts'
import {
  configsOf,
  cpuResources,
  jobNameOf,
  makeJob,
  type PlanContext,
  placeWithInternet,
  slug,
} from '../../run/launch/plan.ts'
import { consumersOf, endpointFile, planServer, waitForServer } from '../../run/launch/plan-server.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { isJobOf } from '../../store/job-dir.ts'
import { parseRunWords } from '../flags/run-words.ts'
import { jobConfigOf } from '../job/job-config.ts'
import type { PlannedJobs } from './datagen.ts'
import { type ChosenEngine, chooseEngineFile, refuseLongContext } from './engine.ts'
import { judgeWords, refuseUnjudgedFolder } from './judge.ts'
import { expectFolder, offlineNotes } from './local-paths.ts'

/** Turns settings into the jobs that score a model: serve it, fetch the benchmark, run attempts, write the report. */
export async function evalJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const benchmark = settings.required('eval_benchmark', 'a folder of tasks, or a dataset of the Hub')
  const model = settings.text('eval_model')
  const engine = await engineOf(at, settings, model)
  const isFolder = /^[./]/.test(benchmark) || (await exists(benchmark))
  if (isFolder) await expectFolder(settings, 'eval_benchmark', resolve(benchmark))
  const asked = await parseRunWords([...judgeWords(settings), ...settings.words('eval_extra_args')])
  const notes: string[] = []
  const { config } = await jobConfigOf(asked, (line) => notes.push(line))
  // An explicitly named agent, such as the oracle, may need no model.
  const isNamed = settings.has('eval_agent') && settings.get('eval_agent')?.origin !== 'default'
  if (engine === null && !isNamed && config.agents.every((agent) => agent.modelName === null))
    throw new UserError(
      'expected a model to evaluate, got none',
      'pass --eval-model MODEL, or --datagen-config with its engine file',
    )
  for (const agent of config.agents) refuseLongContext(engine, agent.kwargs, '--eval-extra-args')
  if (isFolder && asked.judge === undefined && !config.verifier.disable) await refuseUnjudgedFolder(resolve(benchmark))
  const out = resolve(settings.text('eval_output_dir') ?? join(at.experimentsDir, 'outputs/eval'))
  const request: EvalRequest = {
    benchmark: basename(benchmark),
    tasks: isFolder ? resolve(benchmark) : join(at.experimentsDir, 'benchmarks', benchmark),
    out,
    jobName: await evalJobName(out, model ?? 'model', basename(benchmark)),
    engine,
    fetched: !isFolder,
  }
  const fetch = isFolder ? [] : [planFetch(at, benchmark, request.tasks)]
  const work = [...fetch, planEval(at, settings, request)]
  const server = engine?.server ? planServer(at, engine.server, consumersOf(work)) : []
  const endpoint = renderYaml({ engine: { type: 'vllm_local', vllm_local: { endpoint_json: endpointFile(at) } } })
  const files =
    engine === null ? {} : { [engine.path]: engine.text, ...(engine.server && { [endpointConfig(at)]: endpoint }) }
  return {
    jobs: [...server, ...work, planReport(at, request)],
    files,
    notes: [...notes, ...offlineNotes(at)],
  }
}

interface EvalRequest {
  readonly benchmark: string
  readonly tasks: string
  readonly out: string
  readonly jobName: string
  readonly engine: ChosenEngine | null
  /** The benchmark is downloaded first. */
  readonly fetched: boolean
}

/**
 * The job's name. `org/model` becomes `org--model`, so that models of one name differ; a job begun under the old name,
 * without the organization, keeps it.
 */
async function evalJobName(out: string, model: string, benchmark: string): Promise<string> {
  const old = slug(`${basename(model)}_${benchmark}`)
  return (await isJobOf(join(out, old), model)) ? old : jobNameOf(model.replaceAll('/', '--'), benchmark)
}

async function engineOf(at: PlanContext, settings: Settings, model: string | undefined): Promise<ChosenEngine | null> {
  const hasFile = settings.has('datagen_config')
  const isNamed = model !== undefined && !hasFile
  return chooseEngineFile(at, settings, {
    name: settings.text('datagen_engine') ?? (isNamed ? 'vllm_local' : undefined),
    config: settings.text('datagen_config'),
    backend: settings.text('datagen_backend'),
    set: [...settings.words('set'), ...(isNamed ? [`vllm_server.model_path=${model}`] : [])],
    as: `${configsOf(at)}/eval_engine.yaml`,
  })
}

function endpointConfig(at: PlanContext): string {
  return `${configsOf(at)}/eval_endpoint.yaml`
}

function planEval(at: PlanContext, settings: Settings, request: EvalRequest): LaunchJob {
  const { engine, tasks, out, jobName } = request
  const server = engine?.server ?? null
  const model = settings.text('eval_model')
  const config = server ? endpointConfig(at) : engine?.path
  const [judge, extra] = [judgeWords(settings), settings.words('eval_extra_args')]
  return makeJob(at, {
    name: 'eval',
    summary: `score on ${request.benchmark}`,
    resources: cpuResources(at, 32, 64),
    after: [
      ...(request.fetched ? [{ job: 'fetch', when: 'ok' } as const] : []),
      ...(server ? [{ job: 'server', when: 'started' } as const] : []),
    ],
    pieces: [
      ...(server ? [waitForServer(at, server)] : []),
      runOurs('run every attempt, resuming an earlier run', [
        ...['run', '--path', tasks, '--agent', settings.text('eval_agent') ?? 'terminus-2'],
        ...(model === undefined ? [] : ['--model', model]),
        ...(config === undefined ? [] : ['--engine-config', `${at.experimentsDir}/${config}`]),
        ...['--n-attempts', String(settings.number('eval_n_attempts') ?? 3)],
        ...['--jobs-dir', out, '--job-name', jobName],
        ...judge,
        ...extra,
      ]),
    ],
  })
}

function planReport(at: PlanContext, { out, jobName }: EvalRequest): LaunchJob {
  return makeJob(at, {
    name: 'report',
    summary: 'write the report',
    resources: cpuResources(at, 2, 8),
    after: [{ job: 'eval', when: 'ok' }],
    pieces: [
      runOurs('the score with its interval, and the number of failures of each kind', [
        'eval',
        'report',
        join(out, jobName),
      ]),
    ],
  })
}

function planFetch(at: PlanContext, repo: string, dir: string): LaunchJob {
  return makeJob(at, {
    name: 'fetch',
    summary: `download the tasks of ${repo}`,
    place: placeWithInternet(at),
    resources: cpuResources(at, 4, 8),
    pieces: [runOurs('download the benchmark', ['hub', 'download', repo, '--tasks', '--out', dir, '--overwrite'])],
  })
}
