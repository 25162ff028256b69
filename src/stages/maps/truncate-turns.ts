import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { MapStage } from '../../core/stage.ts'
import { ownReplies, upTo } from '../shared/rollout-text/own-replies.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  most: z.int().positive().describe('How many replies of the agent a row keeps.'),
})

/** Cuts every trace after its first replies, to train on beginnings of equal length. */
export default definePlugin({
  name: 'maps/truncate-turns',
  summary: 'Keep the first N turns of the agent in each trace',
  options,
  make: ({ most }): MapStage<RecipeTrace, RecipeTrace> => ({
    kind: 'map',
    takes: 'trace',
    gives: 'trace',
    async *run(rows, at) {
      for await (const row of rows) {
        at.signal.throwIfAborted()
        const replies = ownReplies(row)
        const last = replies[most - 1]
        // A truncated conversation has not earned the reward of the whole one.
        yield last === undefined || replies.length <= most
          ? row
          : { ...upTo(row, last), result: null, reward: null, exit: 'turns' }
      }
    },
  }),
})
