import { basename, join, resolve } from 'node:path'
import { stringify } from 'yaml'
import type { LaunchJob } from '../../core/launch.ts'
import { exists } from '../../lib/files.ts'
import { runOurs, waitForEndpoint } from '../../run/launch/pieces.ts'
import { cpuResources, makeJob, type PlanContext, slug } from '../../run/launch/plan.ts'
import { endpointFile, planServer } from '../../run/launch/plan-server.ts'
import type { Settings } from '../../run/launch/settings.ts'
import type { PlannedJobs } from './datagen.ts'
import { chooseEngineFile } from './engine.ts'

/** Turns settings into the jobs that score a model: serve it, fetch the benchmark, run attempts, write the report. */
export async function evalJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const benchmark = settings.required('eval_benchmark', 'a folder of tasks, or a dataset of the Hub')
  const model = settings.text('eval_model')
  const engine = await chooseEngineFile({
    name:
      settings.text('datagen_engine') ??
      (model === undefined || settings.has('datagen_config') ? undefined : 'vllm_local'),
    config: settings.text('datagen_config'),
    backend: settings.text('datagen_backend'),
    set: [
      ...settings.words('set'),
      ...(model !== undefined && !settings.has('datagen_config') ? [`vllm_server.model_path=${model}`] : []),
    ],
    as: 'configs/eval_engine.yaml',
  })
  const isFolder = /^[./]/.test(benchmark) || (await exists(benchmark))
  const tasks = isFolder ? resolve(benchmark) : join(at.experimentsDir, 'benchmarks', basename(benchmark))
  const out = resolve(settings.text('eval_output_dir') ?? join(at.experimentsDir, 'outputs/eval'))
  const jobName = slug(`${basename(model ?? 'model')}_${basename(benchmark)}`)
  const jobs: LaunchJob[] = []
  if (!isFolder) jobs.push(planFetch(at, benchmark, tasks))
  jobs.push(
    makeJob(at, {
      name: 'eval',
      summary: `score on ${basename(benchmark)}`,
      resources: cpuResources(at, 32, 64),
      after: [
        ...(isFolder ? [] : [{ job: 'fetch', when: 'ok' } as const]),
        ...(engine?.server ? [{ job: 'server', when: 'started' } as const] : []),
      ],
      pieces: [
        ...(engine?.server
          ? [waitForEndpoint('server', endpointFile(at), engine.server.attempts, engine.server.delaySec)]
          : []),
        runOurs('run every attempt, going on where an earlier run stopped', [
          ...['run', '--path', tasks, '--agent', settings.text('eval_agent') ?? 'terminus-2'],
          ...(model === undefined ? [] : ['--model', model]),
          ...(engine
            ? ['--engine-config', `${at.experimentsDir}/${engine.server ? 'configs/eval_endpoint.yaml' : engine.path}`]
            : []),
          ...[
            '--n-attempts',
            String(settings.number('eval_n_attempts') ?? 3),
            '--jobs-dir',
            out,
            '--job-name',
            jobName,
            '--yes',
          ],
          ...settings.words('eval_extra_args'),
        ]),
      ],
    }),
    makeJob(at, {
      name: 'report',
      summary: 'write the report',
      resources: cpuResources(at, 2, 8),
      after: [{ job: 'eval', when: 'ok' }],
      pieces: [
        runOurs('the score with its interval, and every failure counted', ['eval', 'report', join(out, jobName)]),
      ],
    }),
  )
  const endpoint = stringify({ engine: { type: 'vllm_local', vllm_local: { endpoint_json: endpointFile(at) } } })
  const files =
    engine === null
      ? {}
      : { [engine.path]: engine.text, ...(engine.server && { 'configs/eval_endpoint.yaml': endpoint }) }
  const server = engine?.server ? [planServer(at, engine.server, [{ job: 'eval', tasks: null }])] : []
  return { jobs: [...server, ...jobs], files, notes: [] }
}

function planFetch(at: PlanContext, repo: string, dir: string): LaunchJob {
  return makeJob(at, {
    name: 'fetch',
    summary: `download the tasks of ${repo}`,
    resources: cpuResources(at, 4, 8),
    pieces: [runOurs('download the benchmark', ['hub', 'download', repo, '--tasks', '--out', dir, '--overwrite'])],
  })
}
