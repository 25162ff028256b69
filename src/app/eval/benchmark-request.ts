import { UserError } from '../../core/errors.ts'
import { chooseBenchmark, type KnownBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { kindAt } from '../../lib/files.ts'
import type { TasksRequest } from '../job/tasks-request.ts'

/** The request with what the file of a benchmark says about its tasks and how it is run; what is given already wins. */
export async function benchmarkRequest(
  name: string,
  request: TasksRequest,
): Promise<{ readonly benchmark: KnownBenchmark; readonly request: TasksRequest }> {
  const benchmark = chooseBenchmark(await loadBenchmarks(), name)
  const { agent, agentOptions, attempts, timeoutMultiplier } = benchmark.run
  return {
    benchmark,
    request: {
      ...request,
      tasks: request.tasks ?? (await tasksHere(benchmark)),
      attempts: request.attempts ?? attempts,
      timeoutMultipliers: { ...request.timeoutMultipliers, all: request.timeoutMultipliers?.all ?? timeoutMultiplier },
      // Options of an agent mean nothing to another.
      ...(request.agent === undefined && { agent, agentOptions: { ...agentOptions, ...request.agentOptions } }),
    },
  }
}

/** A folder that its file names, or one that `benchmarks fetch` made here. */
async function tasksHere({ name, sources }: KnownBenchmark): Promise<string> {
  const places = [...sources.flatMap((source) => (source.kind === 'path' ? [source.name] : [])), name]
  for (const place of places) if ((await kindAt(place)) === 'dir') return place
  throw new UserError(
    `the tasks of ${name} are not on this machine`,
    `fetch them with ot-agent benchmarks fetch ${name}, or name their folder with -p`,
    3,
  )
}
