import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { Dropped, MapStage } from '../../core/stage.ts'
import { ownReplies, upTo } from '../shared/rollout-text/own-replies.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'
import { masked, turnMarks } from '../shared/rollout-text/turn-marks.ts'

const options = z.strictObject({
  marks: z
    .array(z.enum(turnMarks))
    .min(1)
    .default(['unparsed', 'truncated', 'filtered'])
    .describe('Which replies not to train on.'),
  how: z
    .enum(['drop', 'cut', 'expand', 'flag'])
    .default('cut')
    .describe(
      '`drop`: rows with such a reply; `cut`: each row ends before its first one; `expand`: a row for every other reply, trained on its last message only; `flag`: rows stay, and `train` says it of each message, for trainers that read that.',
    ),
})

type Asked = z.output<typeof options>

/** Excludes replies that were marked in a trial from training. */
export default definePlugin({
  name: 'maps/mask-turns',
  summary: 'Keep replies that were unparsed, truncated, filtered or before a hand-off out of training',
  options,
  make: (asked): MapStage<RecipeTrace, RecipeTrace> => ({
    kind: 'map',
    takes: 'trace',
    gives: 'trace',
    async *run(rows): AsyncIterable<RecipeTrace | Dropped> {
      for await (const row of rows) yield* treated(row, asked)
    },
  }),
})

function* treated(row: RecipeTrace, { marks, how }: Asked): Iterable<RecipeTrace | Dropped> {
  const bad = new Map(
    row.turn_marks.filter(({ mark }) => marks.some((each) => each === mark)).map((each) => [each.message, each.mark]),
  )
  if (how === 'expand') return yield* expanded(row, bad)
  const [first] = [...bad.keys()].sort((a, b) => a - b)
  if (first === undefined) return yield row
  if (how === 'flag') {
    return yield {
      ...row,
      turn_marks: [...row.turn_marks, ...[...bad.keys()].map((message) => ({ message, mark: masked }))],
    }
  }
  const detail = `message ${first + 1} is marked ${bad.get(first)}`
  const end = how === 'cut' ? lastReplyBefore(row, first) : -1
  yield end < 0
    ? { drop: how === 'cut' ? 'nothing-before-marked-turn' : 'marked-turn', detail, id: row.id }
    : upTo(row, end)
}

/** One row for each trainable reply, as LLaMA-Factory's `mask_history` and TRL's prompts and completions need it. */
function* expanded(row: RecipeTrace, bad: ReadonlyMap<number, string>): Iterable<RecipeTrace | Dropped> {
  const replies = ownReplies(row).filter((message) => !bad.has(message))
  for (const message of replies) {
    yield { ...upTo(row, message), id: `${row.id}/message-${message}`, train_on: 'last' }
  }
  if (replies.length === 0) yield { drop: 'marked-turn', detail: 'every reply of the row is marked', id: row.id }
}

function lastReplyBefore(row: RecipeTrace, message: number): number {
  return ownReplies(row).findLast((reply) => reply < message) ?? -1
}
