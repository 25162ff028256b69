import { z } from 'zod'
import { promptsDigestOf } from '../../core/replay.ts'
import { exchangesName } from '../../core/task-paths.ts'
import type { TrialFile } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { modelInHead } from '../exchanges/read-exchanges.ts'

const text = z.string().nullable()
const number = z.number().nullable()
const values = z.record(z.string(), z.unknown())

/**
 * What a dataset records about how its trials were run: everything a replay needs besides the rows and tasks. Contains
 * no secrets.
 */
const runFacts = z.object({
  agent: z.object({
    name: text,
    importPath: text,
    version: z.string(),
    model: text,
    kwargs: values,
    env: z.record(z.string(), z.string()),
    overrideTimeoutSec: number,
    maxTimeoutSec: number,
  }),
  /** A digest of the agent's prompt templates; null if it does not report one. */
  promptsDigest: text,
  /** Determines when an agent hands off. */
  model: z.object({ contextTokens: number, outputTokens: number }),
  sandbox: z.object({ type: text, overrideCpus: number, overrideMemoryMb: number, overrideStorageMb: number }),
  timeoutMultipliers: z.object({
    all: z.number(),
    agent: number,
    verifier: number,
    agentSetup: number,
    environmentBuild: number,
  }),
})
export type RunFacts = z.output<typeof runFacts>

const runsSchema = z.array(
  runFacts.extend({
    /** All trials of these jobs were run this way. */
    jobs: z.array(z.string()),
    /** `JOB/TRIAL`, for jobs with several kinds of trials. */
    trials: z.array(z.string()),
  }),
)

/** The `runs` of a manifest. */
export type Runs = z.output<typeof runsSchema>

/** Options that say where a trial's model is: a replay does not need them, and they must not be published. */
const placesOfModel = ['engine', 'api_base', 'base_url', 'api_key']

/** Enough of `exchanges.jsonl` for its first line. */
export const headBytes = 4096

/** Collects how a dataset's trials were run. */
export class RunCollector {
  readonly #kinds = new Map<string, number>()
  readonly #facts: RunFacts[] = []
  /** By job, then by trial. */
  readonly #jobs = new Map<string, Map<string, number>>()

  add(job: string, record: TrialRecord, files: readonly TrialFile[]): void {
    const facts = factsOf(record, files)
    const key = JSON.stringify(facts)
    const kind = this.#kinds.get(key) ?? this.#facts.push(facts) - 1
    this.#kinds.set(key, kind)
    const trials = this.#jobs.get(job) ?? new Map<string, number>()
    this.#jobs.set(job, trials.set(record.name, kind))
  }

  runs(): Runs {
    const runs = this.#facts.map((facts) => ({ jobs: [] as string[], trials: [] as string[], ...facts }))
    for (const [job, trials] of this.#jobs) {
      const [first, ...others] = new Set(trials.values())
      if (first !== undefined && others.length === 0) runs[first]?.jobs.push(job)
      else for (const [trial, kind] of trials) runs[kind]?.trials.push(`${job}/${trial}`)
    }
    return runs
  }
}

/** Looks up how a trial was run in a manifest's `runs`; an unreadable manifest knows of none. */
export function runFinder(manifest: unknown): (job: string, trial: string) => RunFacts | null {
  const parsed = runsSchema.safeParse(Object(manifest).runs)
  const runs = parsed.success ? parsed.data : []
  const byName = new Map(runs.flatMap((run) => [...run.jobs, ...run.trials].map((name) => [name, run] as const)))
  return (job, trial) => byName.get(`${job}/${trial}`) ?? byName.get(job) ?? null
}

function factsOf(record: TrialRecord, files: readonly TrialFile[]): RunFacts {
  const { agent, environment, timeoutMultipliers } = record.config
  const { name, importPath, env, overrideTimeoutSec, maxTimeoutSec } = agent
  const { type, overrideCpus, overrideMemoryMb, overrideStorageMb } = environment
  const kwargs = Object.fromEntries(Object.entries(agent.kwargs).filter(([key]) => !placesOfModel.includes(key)))
  const said = files.find((file) => file.folder === 'agent' && file.name === exchangesName)
  return {
    agent: {
      ...{ name: name ?? record.agent.name, importPath, version: record.agent.version },
      ...{ model: record.agent.model ?? agent.modelName, kwargs, env, overrideTimeoutSec, maxTimeoutSec },
    },
    promptsDigest: promptsDigestOf(record),
    model: (said && modelInHead(said.bytes)) ?? { contextTokens: null, outputTokens: null },
    sandbox: { type, overrideCpus, overrideMemoryMb, overrideStorageMb },
    timeoutMultipliers,
  }
}
