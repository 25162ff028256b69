import type { RecipeOutcome } from '../../app/recipe/perform-recipe.ts'
import { describeReplay } from '../../core/replay.ts'
import { programName } from '../../lib/program-name.ts'
import { oneLine } from '../../lib/visible.ts'
import { note } from '../output.ts'

/** Reports how replaying a sample of each dataset's rows went; a row that does not replay is a warning. */
export function noteReplays(sinks: RecipeOutcome['sinks']): void {
  for (const { id, replay } of sinks) {
    if (replay === null) continue
    const line = `${id}: ${oneLine(describeReplay(replay))}`
    if (replay.holds === replay.rows) process.stdout.write(`${line}\n`)
    else note(`WARNING: ${line}\n  ${programName()} traces replay checks all rows before you train on them`)
  }
}
