import type { TrialFile, TrialWithFiles } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { limitOfFile } from '../../formats/traces/make-traces.ts'
import { type ShellCall, shellCalls } from '../../formats/traces/shell-calls.ts'
import type { TraceStep } from '../../formats/traces/trajectory.ts'
import { readMain } from '../../formats/traces/trial-trajectories.ts'
import { textOf } from '../../formats/traces/turns.ts'

/** One turn of an agent: what it said and did, and what it saw then. All texts are hostile. */
export interface StoryTurn {
  readonly said: string
  readonly thought: string
  readonly calls: readonly ShellCall[]
  /** Output of its commands, and what it was told before its next turn. */
  readonly seen: string
  readonly promptTokens: number | null
  readonly completionTokens: number | null
}

/** A trial as far as an analysis looks at it. */
export interface TrialStory {
  readonly job: string
  readonly record: TrialRecord
  readonly instruction: string
  /** Null when no trajectory can be read. */
  readonly turns: readonly StoryTurn[] | null
  /** What the tests printed, from its start. */
  readonly tests: string
}

const testsLimitBytes = 1 << 20

/** How much of a trial's files a story needs: trajectories, and what tests printed. */
export function storyLimit(folder: TrialFile['folder'], name: string): number | null {
  if (folder === 'verifier') return name === 'test-stdout.txt' ? testsLimitBytes : null
  return /^trajectory(\.cont-\d+)?\.json$/.test(name) ? limitOfFile(folder, name) : null
}

/** Reads what an agent did in a trial, over all steps and all files of its trajectory. */
export function readStory({ job, record, files }: TrialWithFiles): TrialStory {
  const steps = (record.steps?.map(({ name }) => name) ?? [null]).flatMap((step) => {
    const main = readMain(
      files.filter((file) => file.step === step && file.folder === 'agent'),
      'kept',
    )
    return 'good' in main ? main.good.flatMap((trajectory) => trajectory.steps) : []
  })
  const tests = files.filter(({ folder }) => folder === 'verifier').map(({ bytes }) => utf8.decode(bytes))
  const asked = steps.find(({ source }) => source === 'user')
  const turns = steps.length === 0 ? null : turnsOf(steps)
  return { job, record, instruction: textOf(asked?.message), turns, tests: tests.join('\n') }
}

function turnsOf(steps: readonly TraceStep[]): StoryTurn[] {
  const turns: (Omit<StoryTurn, 'seen'> & { readonly seen: string[] })[] = []
  for (const step of steps) {
    // What was handed over from an earlier context was counted there.
    if (step.is_copied_context) continue
    const observed = (step.observation?.results ?? []).map(({ content }) => textOf(content))
    if (step.source !== 'agent') {
      turns.at(-1)?.seen.push(textOf(step.message), ...observed)
      continue
    }
    turns.push({
      said: textOf(step.message),
      thought: step.reasoning_content ?? '',
      calls: shellCalls(step),
      seen: [observed.join('\n')],
      promptTokens: step.metrics?.prompt_tokens ?? null,
      completionTokens: step.metrics?.completion_tokens ?? null,
    })
  }
  return turns.map((turn) => ({ ...turn, seen: turn.seen.join('\n') }))
}

const utf8 = new TextDecoder('utf-8')
