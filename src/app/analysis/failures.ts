import { type FailureLabel, failureModes } from './failure-rules.ts'

/** Why trials were not solved. */
export interface FailuresReport {
  readonly trials: number
  readonly unsolved: number
  readonly modes: readonly ModeCount[]
  /** The same as judged by a model; null if none was asked. */
  readonly judged: JudgedFailures | null
}

export interface ModeCount {
  readonly mode: string
  readonly about: string
  /** Unsolved trials with this as their main mode. */
  readonly main: number
  /** Unsolved trials that show this mode at all. */
  readonly trials: number
  readonly examples: readonly FailureExample[]
}

export interface FailureExample {
  readonly job: string
  readonly trial: string
  readonly quote: string
}

export interface JudgedFailures {
  readonly model: string
  /** Unsolved trials that the model was asked about, and those without a usable reply. */
  readonly asked: number
  readonly unanswered: number
  readonly modes: readonly ModeCount[]
  /** Labels whose quote does not occur in the trial; they are not counted. */
  readonly droppedLabels: number
  readonly costUsd: number | null
}

const examples = 3

/** Counts the modes of unsolved trials. */
export class ModeTally {
  private readonly counts = new Map<string, { main: number; trials: number; examples: FailureExample[] }>()

  constructor(private readonly modes: readonly { readonly mode: string; readonly about: string }[] = failureModes) {}

  add(job: string, trial: string, labels: readonly FailureLabel[]): void {
    const seen = new Set<string>()
    for (const [i, { mode, quote }] of labels.entries()) {
      if (seen.has(mode)) continue
      seen.add(mode)
      const known = this.counts.get(mode) ?? { main: 0, trials: 0, examples: [] }
      this.counts.set(mode, known)
      known.trials++
      if (i === 0) known.main++
      if (known.examples.length < examples) known.examples.push({ job, trial, quote })
    }
  }

  read(): ModeCount[] {
    const found = this.modes.flatMap(({ mode, about }) => {
      const known = this.counts.get(mode)
      return known === undefined ? [] : [{ mode, about, ...known }]
    })
    return found.sort((a, b) => b.main - a.main || b.trials - a.trials)
  }
}
