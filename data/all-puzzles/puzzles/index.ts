import { type Dropped, definePlugin, type Source, type TaskDraft, z } from 'ot-agent'
import { levels } from './family.ts'
import { familyNames, makePuzzle } from './make-puzzle.ts'

const options = z.strictObject({
  count: z.int().min(1).default(100).describe('How many tasks.'),
  first: z.int().min(0).default(0).describe('Where in the sample to begin.'),
  families: z.array(z.enum(familyNames)).min(1).optional().describe('Only these kinds of puzzle (default: all).'),
  levels: z.array(z.enum(levels)).min(1).optional(),
})

/** Puzzles drawn from a seed, with checks that accept every correct answer. */
export default definePlugin<Source<TaskDraft>, typeof options>({
  name: 'puzzles',
  summary: 'Puzzles of many kinds (sudoku, mazes, knapsacks, ladders, ...) with exact checks',
  options,
  make: ({ count, first, families, levels }) => ({
    kind: 'source',
    gives: 'task',
    async *rows({ seed, signal }): AsyncGenerator<TaskDraft | Dropped> {
      const only = { ...(families && { families }), ...(levels && { levels }) }
      for (let index = first; index < first + count; index++) {
        signal.throwIfAborted()
        yield makePuzzle({ seed, index, ...only })
      }
    },
  }),
})
