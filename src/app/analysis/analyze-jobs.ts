import { resolve } from 'node:path'
import type { Drop } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { isSuccess } from '../../formats/traces/trial-facts.ts'
import { draftBeside, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { openJsonLines } from '../../lib/jsonl.ts'
import { oneLine } from '../../lib/visible.ts'
import { findInputs, type TraceInput } from '../../run/traces/find-inputs.ts'
import { readTrials } from '../../run/traces/read-trials.ts'
import { EvenSample } from '../../stats/distribution.ts'
import { type CommandsReport, CommandsTally, type TurnsReport, TurnsTally } from './activity.ts'
import { type FailureLabel, labelFailure } from './failure-rules.ts'
import { type FailuresReport, ModeTally } from './failures.ts'
import type { FailureJudge } from './judge-failures.ts'
import { type RuntimeReport, RuntimeTally } from './runtime.ts'
import { readStory, storyLimit, type TrialStory } from './trial-story.ts'

export const reportSections = ['runtime', 'turns', 'commands', 'failures'] as const
export type ReportSection = (typeof reportSections)[number]

/** The result of analyzing jobs; sections that were not requested are null. */
export interface JobsReport {
  readonly schema: 'jobs-report/1'
  readonly jobs: readonly string[]
  readonly trials: number
  readonly solved: number
  readonly runtime: RuntimeReport | null
  readonly turns: TurnsReport | null
  readonly commands: CommandsReport | null
  readonly failures: FailuresReport | null
}

export interface AnalysisRequest {
  /** Jobs, trials, or directories of them; ours or Harbor's, packed or not. */
  readonly paths: readonly string[]
  readonly recursive?: boolean | undefined
  /** Default: all. */
  readonly sections?: readonly ReportSection[] | undefined
  /** How many of the slowest trials to list (default 10). */
  readonly slowest?: number | undefined
  /** A model that says why trials failed, and how many trials to ask it about at most (default 20). */
  readonly judge?: FailureJudge | undefined
  readonly judgeTrials?: number | undefined
  /**
   * Called with the rule-based labels of each unsolved trial, and later with the model's labels of those it was asked
   * about.
   */
  readonly onLabels?: ((labels: TrialLabels) => void) | undefined
  readonly onBroken: (line: string) => void
  readonly onTrial?: ((seen: number) => void) | undefined
  readonly signal: AbortSignal
}

/** The labels of one unsolved trial, as a row. */
export interface TrialLabels {
  readonly job: string
  readonly trial: string
  readonly task: string
  readonly labels: readonly FailureLabel[]
  /** The model that assigned the labels; absent for rules. */
  readonly judge?: string
}

/**
 * Reads every finished trial of the jobs once, a few at a time, and reports where time, turns and failures occurred.
 */
export async function analyzeJobs(request: AnalysisRequest): Promise<JobsReport> {
  const { paths, recursive = false, sections = reportSections, slowest = 10, onBroken } = request
  const { inputs, broken } = await findInputs(paths, recursive)
  for (const { dir, why } of broken) onBroken(`${oneLine(dir)} was skipped: ${oneLine(why)}`)
  const asked = (section: ReportSection) => sections.includes(section)
  const tallies = {
    runtime: asked('runtime') ? new RuntimeTally(slowest) : null,
    turns: asked('turns') ? new TurnsTally() : null,
    commands: asked('commands') ? new CommandsTally() : null,
    failures: asked('failures') ? new ModeTally() : null,
  }
  const [counts, unsolved] = [{ trials: 0, solved: 0 }, new EvenSample<string>(4096)]
  const needsFiles = ['turns', 'commands', 'failures'].some((section) => asked(section as ReportSection))
  for await (const { input, story } of stories(inputs, needsFiles ? null : () => true, request)) {
    const { record } = story
    counts.trials++
    request.onTrial?.(counts.trials)
    tallies.runtime?.add(story.job, record)
    tallies.turns?.add(story)
    tallies.commands?.add(story)
    if (isSuccess(record)) counts.solved++
    else if (tallies.failures) {
      const labels = labelFailure(story)
      tallies.failures.add(story.job, record.name, labels)
      request.onLabels?.({ job: story.job, trial: record.name, task: record.task.name, labels })
      if (record.end.kind === 'scored') unsolved.add(keyOf(input, record))
    }
  }
  const judged = await judgeSome(inputs, unsolved.read(), request)
  return {
    schema: 'jobs-report/1',
    jobs: inputs.map(({ dir }) => dir),
    ...counts,
    runtime: tallies.runtime?.read() ?? null,
    turns: tallies.turns?.read() ?? null,
    commands: tallies.commands?.read() ?? null,
    failures: tallies.failures && {
      trials: counts.trials,
      unsolved: counts.trials - counts.solved,
      modes: tallies.failures.read(),
      judged,
    },
  }
}

/** Yields trials one by one; for those that match `isSkipped`, without their files. */
async function* stories(
  inputs: readonly TraceInput[],
  isSkipped: ((record: TrialRecord) => boolean) | null,
  { signal, onBroken }: Pick<AnalysisRequest, 'signal' | 'onBroken'>,
): AsyncGenerator<{ readonly input: TraceInput; readonly story: TrialStory }, void, void> {
  const refuse = (record: TrialRecord) => (isSkipped?.(record) ? notNeeded : null)
  for await (const read of readTrials(inputs, { refuse, limitOf: storyLimit }, signal)) {
    const { input } = read
    if ('trial' in read) yield { input, story: readStory(read.trial) }
    else {
      if (read.drop !== notNeeded)
        onBroken(`${oneLine(read.record.name)}: its files were skipped: ${oneLine(read.drop.detail)}`)
      yield { input, story: { job: input.job, record: read.record, instruction: '', turns: null, tests: '' } }
    }
  }
}

const notNeeded: Drop = { reason: 'filtered-by-result', detail: 'not needed', traceSource: null, step: null }

/** Asks the judge about trials spread evenly over all unsolved ones. */
async function judgeSome(inputs: readonly TraceInput[], keys: readonly string[], request: AnalysisRequest) {
  const { judge, judgeTrials = 20 } = request
  if (judge === undefined) return null
  const count = Math.min(judgeTrials, keys.length)
  const chosen = new Set(Array.from({ length: count }, (_, i) => keys[Math.floor((i * keys.length) / count)]))
  for (const input of inputs) {
    const isSkipped = (record: TrialRecord) => !chosen.has(keyOf(input, record))
    for await (const { story } of stories([input], isSkipped, request))
      if (!isSkipped(story.record)) await judgeOne(judge, story, request)
  }
  return judge.read()
}

async function judgeOne(judge: FailureJudge, story: TrialStory, { onLabels, signal }: AnalysisRequest): Promise<void> {
  const labels = await judge.add(story, signal)
  const { job, record } = story
  if (labels.length > 0) onLabels?.({ job, trial: record.name, task: record.task.name, labels, judge: judge.model })
}

function keyOf({ dir }: TraceInput, { name }: TrialRecord): string {
  return `${dir}\0${name}`
}

/**
 * Runs work with a file that receives the labels of every unsolved trial, one per line. The file appears once it is
 * complete.
 */
export async function withLabelsFile<T>(path: string, work: (add: (labels: TrialLabels) => void) => Promise<T>) {
  const draft = draftBeside(resolve(path))
  const file = await openJsonLines(draft)
  try {
    const result = await work((labels) => file.append(labels))
    await file.close()
    await renameDraft(draft, path)
    return result
  } catch (error) {
    await file.close().catch(() => {})
    await removeDraft(draft)
    throw error
  }
}
