import type { TrialFile, TrialWithFiles } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { limitOfFile } from '../../formats/traces/make-traces.ts'
import { type ShellCall, shellCalls } from '../../formats/traces/shell-calls.ts'
import type { TraceStep } from '../../formats/traces/trajectory.ts'
import { readMain } from '../../formats/traces/trial-trajectories.ts'
import { textOf } from '../../formats/traces/turns.ts'

/** One turn of an agent: what it said and did, and what it saw next. All text is hostile. */
export interface StoryTurn {
  readonly said: string
  readonly thought: string
  readonly calls: readonly ShellCall[]
  /** The output of its commands, and other input before its next turn. */
  readonly seen: string
  readonly promptTokens: number | null
  readonly completionTokens: number | null
}

/** The parts of a trial that an analysis looks at. */
export interface TrialStory {
  readonly job: string
  readonly record: TrialRecord
  readonly instruction: string
  /** Null if there is no readable trajectory. */
  readonly turns: readonly StoryTurn[] | null
  /** The beginning of the tests' output. */
  readonly tests: string
}

const testsLimitBytes = 1 << 20

/** How many bytes of a trial's file a story needs: it reads trajectories and test output. */
export function storyLimit(folder: TrialFile['folder'], name: string): number | null {
  if (folder === 'verifier') return name === 'test-stdout.txt' ? testsLimitBytes : null
  return /^trajectory(\.cont-\d+)?\.json$/.test(name) ? limitOfFile(folder, name) : null
}

/** Reads what an agent did in a trial, over all steps and trajectory files. */
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
    // Steps copied from an earlier context were counted there.
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
