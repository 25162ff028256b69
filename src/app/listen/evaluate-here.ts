import { readEngineFile } from '../../formats/engine-yaml.ts'
import { findBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { requestedModel, type TasksRequest } from '../job/tasks-request.ts'
import { evaluationJob } from '../registry/evaluate-by-command.ts'
import type { Evaluate } from '../registry/listen.ts'
import { type EvaluationRequest, runEvaluation } from '../run-evaluation.ts'
import { serveHere } from '../serve/serve-here.ts'

export interface HereRequest {
  /** How to run each model, except for its name. */
  readonly request: TasksRequest & Pick<EvaluationRequest, 'maxFailedShare' | 'rounds' | 'smoke'>
  /** An engine file whose server is started for each model; without it the request says where models are. */
  readonly serverFile?: string | undefined
  readonly jobsDir: string
  readonly notify: (line: string) => void
}

/**
 * Evaluates models in this process, like `eval run`. A second attempt resumes the first one's job: only trials without
 * a score are run.
 */
export function evaluateHere({ request, serverFile, jobsDir, notify }: HereRequest): Evaluate {
  return async ({ model, benchmark, signal }) => {
    await using server = serverFile === undefined ? null : await serveModel(serverFile, model, { notify, signal })
    const named = requestedModel(request)
    const [name = benchmark] = benchmark.split('@')
    const run = runEvaluation(
      {
        ...request,
        ...((await needsBenchmark(request, name)) && { benchmark: name }),
        model: { ...named, names: [model], ...(server && { apiBase: server.apiBase }) },
        jobsDir,
        jobName: await evaluationJob(jobsDir, { benchmark, model }),
      },
      { signal },
    )
    for await (const event of run) {
      if (event.kind === 'note') notify(`${model}: ${event.text}`)
      if (event.kind === 'check') notify(`${model}: ${event.check.name}: ${event.check.says}`)
    }
    const { jobDir } = await run
    signal.throwIfAborted()
    return { jobDir }
  }
}

/** Tasks that were named by their folder, or as a dataset, need no entry in the list of benchmarks. */
async function needsBenchmark({ tasks, jobFile, dataset }: TasksRequest, name: string): Promise<boolean> {
  if (tasks !== undefined || jobFile !== undefined) return false
  return dataset === undefined || findBenchmark(await loadBenchmarks(), name) !== undefined
}

/** Starts the server of an engine file with the weights of a model. */
async function serveModel(path: string, model: string, control: Parameters<typeof serveHere>[2]) {
  const file = await readEngineFile(path, (document) => {
    const { vllm_server: server } = document
    if (typeof server === 'object') document.vllm_server = { ...server, model_path: model, custom_model_name: model }
  })
  return serveHere(file, path, control)
}
