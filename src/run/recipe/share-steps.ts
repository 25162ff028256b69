import { fetchStep, type SharedStep, shareStep } from '../../store/rows/shared-steps.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { Step } from './steps.ts'

/** The parts of a run that are needed to share its steps. */
interface Sharing {
  readonly sharedCache?: string | undefined
  readonly signal: AbortSignal
  readonly onEvent?: (event: { readonly kind: 'log'; readonly stage: string; readonly line: string }) => void
}

/**
 * Fetches what other machines have already made, from the first step to the last: later steps may refer to rows of
 * earlier ones.
 */
export async function fetchSteps(
  run: Sharing,
  steps: readonly Step[],
  digests: ReadonlyMap<string, string>,
  dirOf: (id: string) => string,
): Promise<void> {
  if (run.sharedCache === undefined) return
  for (const { id, stages } of steps) {
    run.signal.throwIfAborted()
    if (stages[0]?.form === 'sink') continue
    tell(run, id, await fetchStep(run.sharedCache, dirOf(id), digests.get(id) ?? ''))
  }
}

/** Shares a step made here with other machines. */
export async function offerStep(run: Sharing, output: StepOutput): Promise<void> {
  if (run.sharedCache !== undefined) tell(run, output.manifest.id, await shareStep(run.sharedCache, output))
}

function tell(run: Sharing, stage: string, done: SharedStep): void {
  if (done.kind === 'refused') run.onEvent?.({ kind: 'log', stage, line: `not shared: ${done.why}` })
}
