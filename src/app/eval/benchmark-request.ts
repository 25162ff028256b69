import { chooseBenchmark, type KnownBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { benchmarkTasks, type FetchAt } from '../datasets/benchmark-tasks.ts'
import type { TasksRequest } from '../job/tasks-request.ts'

/** The request with what the file of a benchmark says about its tasks and how it is run; what is given already wins. */
export async function benchmarkRequest(
  name: string,
  request: TasksRequest,
  at: FetchAt,
): Promise<{ readonly benchmark: KnownBenchmark; readonly request: TasksRequest }> {
  const all = await loadBenchmarks()
  const benchmark = chooseBenchmark(all, name)
  const { agent, agentOptions, attempts, timeoutMultiplier } = benchmark.run
  const hasTasks = request.tasks !== undefined || request.dataset !== undefined
  if (!hasTasks) await benchmarkTasks(benchmark, all, at)
  return {
    benchmark,
    request: {
      ...request,
      ...(!hasTasks && { dataset: benchmark.name }),
      attempts: request.attempts ?? attempts,
      timeoutMultipliers: { ...request.timeoutMultipliers, all: request.timeoutMultipliers?.all ?? timeoutMultiplier },
      // Options of an agent mean nothing to another.
      ...(request.agent === undefined && { agent, agentOptions: { ...agentOptions, ...request.agentOptions } }),
    },
  }
}
