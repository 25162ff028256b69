import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { Dropped, MapStage } from '../../core/stage.ts'
import { isDropped } from '../../core/stage.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { modelOf } from '../shared/asking/ask.ts'
import { askOptions, identityOf, needsOfAsking, withModel } from '../shared/asking/mapping.ts'
import { answerAt } from '../shared/asking/reanswer.ts'
import { Spending } from '../shared/asking/spending.ts'
import { ownReplies } from '../shared/rollout-text/own-replies.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'

const { tries: _, system: __, ...asking } = askOptions
const options = z.strictObject({
  ...asking,
  turns: z
    .enum(['first', 'last', 'each'])
    .default('last')
    .describe(
      '`first`: the row becomes the request and its new answer; `last`: the last reply is replaced, and only it is trained on; `each`: a row for every reply, answered again after what really came before it.',
    ),
})

/** Replaces replies in traces with those of another model, which sees exactly what preceded them. */
export default definePlugin({
  name: 'maps/reanswer',
  summary: 'Let a model answer the first, last or each turn of a trace again',
  options,
  make: (asked): MapStage<RecipeTrace, RecipeTrace> => ({
    kind: 'map',
    takes: 'trace',
    gives: 'trace',
    expensive: true,
    identity: identityOf({ ...asked, tries: 1 }),
    needs: () => needsOfAsking({ ...asked, tries: 1 }),
    expect: (taken) => ({
      rows: asked.turns === 'each' ? null : taken,
      modelCalls: asked.turns === 'each' ? null : taken,
    }),
    async *run(rows, at) {
      const { maxCalls, maxCostUsd, temperature, maxOutputTokens } = asked
      const spending = new Spending({ maxCalls, maxCostUsd })
      const context = await withModel(at, { ...asked, tries: 1 }, spending)
      const asker = { ...context, model: modelOf(context), spending }
      const questions = turnsToAnswer(rows, asked.turns)
      for await (const given of mapInOrder(questions, asked.concurrency, async (question) =>
        isDropped(question) ? question : answerAt(question, { temperature, maxOutputTokens }, asker),
      )) {
        at.signal.throwIfAborted()
        yield given
      }
      at.log(`asked ${asker.model.model}: ${spending}`)
    },
  }),
})

interface TurnToAnswer {
  readonly row: RecipeTrace
  readonly message: number
  readonly turns: 'first' | 'last' | 'each'
}

async function* turnsToAnswer(
  rows: AsyncIterable<RecipeTrace>,
  turns: TurnToAnswer['turns'],
): AsyncGenerator<TurnToAnswer | Dropped> {
  for await (const row of rows) {
    const replies = ownReplies(row)
    const chosen = turns === 'each' ? replies : turns === 'first' ? replies.slice(0, 1) : replies.slice(-1)
    for (const message of chosen) yield { row, message, turns }
    if (chosen.length === 0) yield { drop: 'no-agent-turn', detail: 'there is no reply to answer again', id: row.id }
  }
}
