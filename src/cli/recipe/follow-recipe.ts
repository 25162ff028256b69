import type { RecipeEvent, RecipeFollower } from '../../app/recipe/perform-recipe.ts'
import type { RolloutAsk } from '../../app/recipe/roll-out.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { showTrials } from '../run/run-asked-job.ts'

/** How often a long step says that it still works. */
const heartbeatMs = 20_000

/** Runs recipe work at the terminal: tells how far it is, and stops it on Ctrl-C. */
export async function followRecipe<T>(
  { quiet, ...trials }: { readonly quiet: boolean } & Omit<RolloutAsk, 'notify' | 'watchTrials'>,
  work: (follower: RecipeFollower) => Promise<T>,
): Promise<T> {
  const interrupt = interruptSignal()
  const teller = makeTeller(quiet)
  try {
    return await work({
      trials: { ...trials, notify: note, watchTrials },
      onEvent: teller.tell,
      signal: interrupt.signal,
    })
  } finally {
    teller.stop()
    interrupt.stop()
  }
}

const watchTrials: RolloutAsk['watchTrials'] = (tell) =>
  showTrials({ quiet: false }, { write: (text: string) => tell(text.trimEnd()) })

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
