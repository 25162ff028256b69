import type { NewJobRun, NewRun } from '../../core/new-run.ts'

/** The arguments of the `ot-agent` command for a request. */
export function newRunWords(run: NewRun): string[] {
  if (run.kind !== 'recipe') return [...(run.kind === 'run' ? ['run'] : ['eval', 'run']), ...jobWords(run)]
  const { file, out, set, limit, rehearse, passEnv } = run
  return [
    ...['recipe', 'run', file],
    ...each('--set', set),
    ...one('--limit', limit),
    ...one('-o', out),
    ...flag('--rehearse', rehearse),
    ...each('--pass-env', passEnv),
  ]
}

function jobWords(run: NewJobRun): string[] {
  return [
    ...one('--benchmark', run.kind === 'eval' ? run.benchmark : undefined),
    ...one('-p', run.tasks),
    ...one('-d', run.dataset),
    ...flag('--fetch', run.fetch),
    ...each('-i', run.include),
    ...one('-l', run.limit),
    ...one('-a', run.agent),
    ...each('--ak', run.agentOptions),
    ...each('-m', run.models),
    ...one('--api-base', run.apiBase),
    ...one('--api-key-env', run.apiKeyEnv),
    ...one('--engine', run.engine),
    ...each('--engine-kwarg', run.engineOptions),
    ...one('-e', run.sandbox),
    ...each('--ek', run.sandboxOptions),
    ...one('-k', run.attempts),
    ...one('-n', run.concurrency),
    ...one('-r', run.maxRetries),
    ...one('--budget-usd', run.budgetUsd),
    ...each('--pass-env', run.passEnv),
    ...one('-o', run.jobsDir),
    ...one('--job-name', run.jobName),
  ]
}

function one(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [name, String(value)]
}

function each(name: string, values: readonly string[] = []): string[] {
  return values.flatMap((value) => [name, value])
}

function flag(name: string, on: true | undefined): string[] {
  return on ? [name] : []
}
