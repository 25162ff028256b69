import { programsIn } from '../../formats/traces/shell-calls.ts'
import { isSuccess } from '../../formats/traces/trial-facts.ts'
import { type Distribution, DistributionTally } from '../../stats/distribution.ts'
import { trialMeasures } from '../../stats/trial-measures.ts'
import type { TrialStory } from './trial-story.ts'

/** How much agents did and said. */
export interface TurnsReport {
  /** Per trial: turns, commands, input and output tokens, USD. */
  readonly perTrial: Readonly<Record<string, Distribution>>
  /** Per turn: input and output tokens, commands. */
  readonly perTurn: Readonly<Record<string, Distribution>>
  /** Trials without a readable trajectory. */
  readonly withoutTrajectory: number
}

/** Sums up turns and tokens in bounded memory. */
export class TurnsTally {
  private readonly perTrial = new Map<string, DistributionTally>()
  private readonly perTurn = new Map<string, DistributionTally>()
  private withoutTrajectory = 0

  add({ record, turns }: TrialStory): void {
    const known = trialMeasures(record)
    addTo(this.perTrial, 'turns', turns?.length ?? known.turns)
    addTo(this.perTrial, 'input tokens', known.inputTokens)
    addTo(this.perTrial, 'output tokens', known.outputTokens)
    addTo(this.perTrial, 'cost, USD', known.costUsd)
    if (turns === null) {
      this.withoutTrajectory++
      return
    }
    addTo(
      this.perTrial,
      'commands',
      turns.reduce((sum, { calls }) => sum + calls.length, 0),
    )
    for (const turn of turns) {
      addTo(this.perTurn, 'input tokens', turn.promptTokens)
      addTo(this.perTurn, 'output tokens', turn.completionTokens)
      addTo(this.perTurn, 'commands', turn.calls.length)
    }
  }

  read(): TurnsReport {
    const { withoutTrajectory } = this
    return { perTrial: readAll(this.perTrial), perTurn: readAll(this.perTurn), withoutTrajectory }
  }
}

function addTo(tallies: Map<string, DistributionTally>, name: string, value: number | null | undefined): void {
  if (value === null || value === undefined) return
  const tally = tallies.get(name) ?? new DistributionTally()
  tallies.set(name, tally)
  tally.add(value)
}

function readAll(tallies: ReadonlyMap<string, DistributionTally>): Record<string, Distribution> {
  return Object.fromEntries(
    [...tallies].flatMap(([name, tally]) => {
      const read = tally.read()
      return read === null ? [] : [[name, read] as const]
    }),
  )
}

/** Which programs and tools agents used. */
export interface CommandsReport {
  /** Trials with a trajectory. */
  readonly trials: number
  readonly programs: readonly UseCount[]
  readonly tools: readonly UseCount[]
}

export interface UseCount {
  readonly name: string
  readonly uses: number
  /** Trials that used it at least once, and how many of those were solved. */
  readonly trials: number
  readonly solved: number
}

/** How many distinct names are counted: agents can make up any number. */
const mostNames = 10_000

/** Counts programs and tools in bounded memory. */
export class CommandsTally {
  private readonly programs = new Map<string, { uses: number; trials: number; solved: number }>()
  private readonly tools = new Map<string, { uses: number; trials: number; solved: number }>()
  private trials = 0

  add({ record, turns }: TrialStory): void {
    if (turns === null) return
    this.trials++
    const isSolved = isSuccess(record)
    const calls = turns.flatMap((turn) => turn.calls)
    count(
      this.tools,
      calls.map(({ tool }) => tool),
      isSolved,
    )
    count(
      this.programs,
      calls.flatMap(({ script }) => (script === null ? [] : programsIn(script))),
      isSolved,
    )
  }

  read(): CommandsReport {
    return { trials: this.trials, programs: listed(this.programs), tools: listed(this.tools) }
  }
}

function count(
  counts: Map<string, { uses: number; trials: number; solved: number }>,
  names: readonly string[],
  isSolved: boolean,
): void {
  const seen = new Set<string>()
  for (const given of names) {
    const name = counts.has(given) || counts.size < mostNames ? given : 'other names'
    const known = counts.get(name) ?? { uses: 0, trials: 0, solved: 0 }
    counts.set(name, known)
    known.uses++
    if (seen.has(name)) continue
    seen.add(name)
    known.trials++
    if (isSolved) known.solved++
  }
}

function listed(counts: ReadonlyMap<string, { uses: number; trials: number; solved: number }>): UseCount[] {
  const all = [...counts].map(([name, known]) => ({ name, ...known }))
  return all.sort((a, b) => b.uses - a.uses || (a.name < b.name ? -1 : 1))
}
