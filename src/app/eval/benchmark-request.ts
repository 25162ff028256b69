import { chooseBenchmark, type KnownBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { benchmarkTasks, type FetchAt } from '../datasets/benchmark-tasks.ts'
import type { TasksRequest } from '../job/tasks-request.ts'

/** Fills a request with what a benchmark's file says about its tasks and how to run them; values in the request win. */
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
      // One agent's options mean nothing to another.
      ...(request.agent === undefined && { agent, agentOptions: { ...agentOptions, ...request.agentOptions } }),
    },
  }
}
