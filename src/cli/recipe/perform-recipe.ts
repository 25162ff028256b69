import { oneLine } from '../../lib/visible.ts'
import type { RecipeOutcome } from '../../run/recipe/outcome.ts'
import { type RecipeEvent, type RecipeRun, runRecipe } from '../../run/recipe/run-recipe.ts'
import { explainDisk } from '../disk-errors.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import type { RolloutAsk } from './roll-out.ts'
import { stageServices } from './services.ts'
import { refuseUnready } from './start.ts'

/** How often a long step says that it still works. */
const heartbeatMs = 20_000

type Asked = Omit<RecipeRun, 'services' | 'signal' | 'onEvent' | 'refuse'> & {
  readonly quiet: boolean
  /** What holds for all its trials. */
  readonly trials?: RolloutAsk
}

/** Runs a recipe with everything this program has, tells how far it is, and stops when it is interrupted. */
export async function performRecipe({ quiet, trials, ...run }: Asked): Promise<RecipeOutcome> {
  const interrupt = interruptSignal()
  const teller = makeTeller(quiet)
  try {
    const { signal } = interrupt
    const services = stageServices(signal, trials)
    const refuse = run.rehearse ? undefined : await refuseUnready(run.recipe, run.dir, run.until, signal)
    return await explainDisk(run.dir, () => runRecipe({ ...run, services, signal, refuse, onEvent: teller.tell }))
  } finally {
    teller.stop()
    interrupt.stop()
  }
}

function makeTeller(quiet: boolean): { tell(event: RecipeEvent): void; stop(): void } {
  let since = performance.now()
  const beat = () => note(`  still at it, ${Math.round((performance.now() - since) / 1000)} s`)
  let timer: NodeJS.Timeout | undefined
  const stop = () => clearInterval(timer)
  return {
    stop,
    tell(event) {
      if (quiet) return
      stop()
      if (event.kind.endsWith('-start')) since = performance.now()
      if (event.kind !== 'step-end') timer = setInterval(beat, heartbeatMs).unref()
      note(lineOf(event))
    },
  }
}

function lineOf(event: RecipeEvent): string {
  if (event.kind === 'step-start') return `${event.stages.join(' + ')} ...`
  if (event.kind === 'recheck-start') return `every filter once more over ${event.rows} rows ...`
  if (event.kind === 'shard-end') return `  shard ${event.index}: ${event.rows} rows`
  if (event.kind === 'step-end') return `  ${event.rows} rows${event.cached ? ', from an earlier run' : ''}`
  return `  ${event.stage}: ${oneLine(event.line)}`
}
