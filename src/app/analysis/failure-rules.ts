import { hadNoValidReply } from '../../core/model-replies.ts'
import { isSuccess } from '../../formats/traces/trial-facts.ts'
import type { StoryTurn, TrialStory } from './trial-story.ts'

/** A reason why a trial was not solved, with the words that show it. */
export interface FailureLabel {
  readonly mode: string
  /** Text from the trial itself, hence hostile. */
  readonly quote: string
}

export interface FailureMode {
  readonly mode: string
  /** What it means, for people. */
  readonly about: string
}

interface Rule extends FailureMode {
  /** Returns the words that show it, or null if the rule does not apply. */
  find(story: TrialStory): string | null
}

const quoteChars = 200

/**
 * The failure modes that rules tell apart, most informative first. The first one that applies to a trial is its main
 * mode.
 */
const rules: readonly Rule[] = [
  {
    mode: 'infrastructure failure',
    about: 'the trial ended in an infrastructure failure, and was not scored',
    find: ({ record: { end } }) =>
      end.kind === 'failed' ? `${end.failure.boundary}: ${end.failure.code}: ${end.failure.message}` : null,
  },
  {
    mode: 'cancelled',
    about: 'the trial was cancelled',
    find: ({ record: { end } }) => (end.kind === 'cancelled' ? 'cancelled' : null),
  },
  {
    mode: 'not verified',
    about: 'the tests did not run',
    find: ({ record: { end } }) => (end.kind === 'scored' && end.rewards === null ? 'no rewards' : null),
  },
  {
    mode: 'no valid reply',
    about: 'the model never gave a reply that the agent could use',
    find: ({ record }) => (hadNoValidReply(record) ? 'no valid reply of the model' : null),
  },
  {
    mode: 'agent crashed',
    about: 'the program of the agent ended with an error',
    find: ({ record: { end } }) =>
      end.kind === 'scored' && end.exit.kind === 'exited' ? `exit code ${end.exit.exitCode}` : null,
  },
  {
    mode: 'no commands',
    about: 'the agent ran no command and called no tool',
    find: ({ turns }) =>
      turns !== null && turns.every(({ calls }) => calls.length === 0)
        ? `${turns.length} turns without a command`
        : null,
  },
  inText({
    mode: 'unreadable replies',
    about: 'three or more replies of the model could not be parsed by the agent',
    pattern: /Previous response had parsing errors|No valid JSON found|Extra text detected before JSON/,
    where: 'seen',
    atLeast: 3,
  }),
  {
    mode: 'repeats itself',
    about: 'the agent ran the same command five times in a row or more',
    find: ({ turns }) => repeated(turns ?? []),
  },
  inText({
    mode: 'context too long',
    about: 'the conversation outgrew the context of the model',
    pattern: /context length|maximum context|Technical difficulties/,
    where: 'seen',
    atLeast: 2,
  }),
  inText({
    mode: 'no network',
    about: 'commands could not reach the network',
    pattern: /Could not resolve host|Temporary failure in name resolution|Network is unreachable|ENOTFOUND|getaddrinfo/,
    where: 'seen',
  }),
  inText({
    mode: 'out of memory',
    about: 'a command was killed, or ran out of memory',
    pattern: /Out of memory|MemoryError|std::bad_alloc|^Killed\b|Cannot allocate memory/m,
    where: 'seen',
  }),
  inText({
    mode: 'disk full',
    about: 'there was no space left on the disk',
    pattern: /No space left on device|ENOSPC|Disk quota exceeded/,
    where: 'seen',
  }),
  inText({
    mode: 'missing programs',
    about: 'three or more commands called programs or modules that are not installed',
    pattern: /command not found|No module named|Cannot find module|: not found$/m,
    where: 'seen',
    atLeast: 3,
  }),
  inText({
    mode: 'permission denied',
    about: 'two or more commands were refused for lack of permission',
    pattern: /Permission denied|Operation not permitted|EACCES/,
    where: 'seen',
    atLeast: 2,
  }),
  inText({
    mode: 'stuck in a program',
    about: 'the last screens show a pager, an editor or a prompt that waits for input',
    pattern: /^\(END\)|-- INSERT --|^--More--|^>>> $|^\(Pdb\)|password for|\[Y\/n\] ?$/m,
    where: 'end',
  }),
  {
    mode: 'limit reached',
    about: 'the agent was stopped by its limit of time, turns, context, cost or storage',
    find: ({ record: { end } }) =>
      end.kind === 'scored' && end.exit.kind === 'limit' ? `${end.exit.limit} limit` : null,
  },
  inText({
    mode: 'tests had no network',
    about: 'the tests themselves could not reach the network',
    pattern: /Could not resolve host|Temporary failure in name resolution|Network is unreachable/,
    where: 'tests',
  }),
  inText({
    mode: 'error at the end',
    about: 'the last commands of the agent ended with an error that it did not repair',
    pattern: /^Traceback \(most recent call last\)|^\w*Error: |^error(\[|:)|^make: \*\*\*|^FAILED /m,
    where: 'end',
  }),
  {
    mode: 'gave up early',
    about: 'the agent stopped by itself after three turns or fewer',
    find: ({ record: { end }, turns }) =>
      end.kind === 'scored' && end.exit.kind === 'finished' && turns !== null && turns.length <= 3
        ? (turns.at(-1)?.said ?? '')
        : null,
  },
  inText({
    mode: 'tests failed',
    about: 'the agent finished, and tests failed',
    pattern: /^(FAILED|ERROR) .+|^E {2,}.+|AssertionError|^not ok .+/m,
    where: 'tests',
  }),
]

/** The mode of trials that match no rule. */
const unexplained: Rule = {
  mode: 'wrong result',
  about: 'the agent finished, and the tests gave no full reward; nothing else is known',
  find: ({ record: { end } }) =>
    end.kind === 'scored' && end.rewards !== null ? `rewards ${JSON.stringify(end.rewards)}` : null,
}

/** Every mode that rules can find, with its meaning. */
export const failureModes: readonly FailureMode[] = [...rules, unexplained].map(({ mode, about }) => ({ mode, about }))

/** Why a trial was not solved, main mode first; empty for a solved trial. */
export function labelFailure(story: TrialStory): readonly FailureLabel[] {
  if (isSuccess(story.record)) return []
  const labels = rules.flatMap((rule) => labelsOf(rule, story))
  return labels.length > 0 ? labels : labelsOf(unexplained, story)
}

function labelsOf({ mode, find }: Rule, story: TrialStory): FailureLabel[] {
  const found = find(story)
  return found === null ? [] : [{ mode, quote: found.replace(/\s+/g, ' ').trim().slice(0, quoteChars) }]
}

interface TextRule extends FailureMode {
  readonly pattern: RegExp
  /** `end`: what the agent saw in the last two turns. */
  readonly where: 'seen' | 'end' | 'tests'
  /** Minimum number of turns with a match (default 1). */
  readonly atLeast?: number
}

/** A rule that searches for words. The line with the match is the evidence. */
function inText({ mode, about, pattern, where, atLeast = 1 }: TextRule): Rule {
  const textsOf = ({ turns, tests }: TrialStory) =>
    where === 'tests' ? [tests] : (turns ?? []).slice(where === 'end' ? -2 : 0).map(({ seen }) => seen)
  const find = (story: TrialStory) => {
    const found = textsOf(story).flatMap((text) => {
      const match = pattern.exec(text)
      return match ? [lineAt(text, match.index)] : []
    })
    return found.length >= atLeast ? (found[0] ?? null) : null
  }
  return { mode, about, find }
}

function lineAt(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  // Very long lines, such as minified code, are cut around the match.
  return text.slice(Math.max(from, at - quoteChars / 2), end < 0 ? undefined : end).slice(0, quoteChars)
}

const repeats = 5

function repeated(turns: readonly StoryTurn[]): string | null {
  let [last, times] = ['', 0]
  for (const { calls } of turns) {
    const now = calls.map(({ tool, script }) => script ?? tool).join('\n')
    if (now.trim() === '') continue
    times = now === last ? times + 1 : 1
    last = now
    if (times >= repeats) return now
  }
  return null
}
