import { labelOf } from '../../app/ablate/cells.ts'
import type { CellFollower, CellState } from '../../app/ablate/run.ts'
import { oneLine } from '../../lib/visible.ts'
import { followRecipe } from '../recipe/follow-recipe.ts'

/** Runs cells at the terminal: shows progress, and stops on Ctrl-C. */
export function followCells<T>(quiet: boolean, work: (follower: CellFollower) => Promise<T>): Promise<T> {
  return followRecipe({ quiet }, (follower, { tell }) =>
    work({
      ...follower,
      onCell: (state) => tell(lineOf(state)),
      onCommand: (cell, { at, of, log }) =>
        tell(`${labelOf(cell)}: command ${at + 1} of ${of}, its output is in ${log}`),
      onGroup: ({ cells, at, of }) => {
        const [first] = cells
        if (first)
          tell(`recipe ${at + 1} of ${of}: ${labelOf(first)}${cells.length > 1 ? ` and ${cells.length - 1} more` : ''}`)
      },
    }),
  )
}

function lineOf({ cell, state, cached, reason }: CellState): string {
  if (state === 'failed') return `${labelOf(cell)}: failed: ${oneLine(reason ?? '')}`
  if (state === 'ready') return `${labelOf(cell)}: its dataset is ready`
  return `${labelOf(cell)}: done${cached ? ', from an earlier run' : ''}`
}
