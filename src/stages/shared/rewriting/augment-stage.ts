import { z } from 'zod'
import type { TaskRow } from '../../../core/row.ts'
import { type Dropped, isDropped, type MapStage } from '../../../core/stage.ts'
import { mapInOrder } from '../../../lib/map-in-order.ts'
import { modelOf } from '../asking/ask.ts'
import { type AskingContext, askOptions, identityOf, needsOfAsking, withModel } from '../asking/mapping.ts'
import { Spending } from '../asking/spending.ts'
import { retoldTask } from './retold-task.ts'
import { type Manner, rewriteInstruction } from './rewrite-instruction.ts'

/** Options of every stage that rewrites instructions. */
export const augmentOptions = z.strictObject({
  ...askOptions,
  variants: z.number().int().min(1).max(20).default(1).describe('New tellings of each task.'),
  keepOriginal: z.boolean().default(false).describe('Also pass on the old task, before the new ones.'),
})
type Options = z.output<typeof augmentOptions>

/** Rewrites every instruction: same files, same tests, same solution; the old task becomes the parent. */
export function augmentStage(manner: Manner, options: Options): MapStage<TaskRow, TaskRow> {
  // Shared by all runs of the stage: pipelines run it row by row.
  const spending = new Spending(options)
  return {
    kind: 'map',
    takes: 'task',
    gives: 'task',
    expensive: true,
    identity: identityOf(options),
    needs: () => needsOfAsking(options),
    expect: (taken) => ({
      rows: taken === null ? null : taken * (options.variants + (options.keepOriginal ? 1 : 0)),
      modelCalls: taken === null ? null : taken * options.variants,
    }),
    async *run(rows, given) {
      const at = await withModel(given, options, spending)
      modelOf(at)
      for await (const made of mapInOrder(rows, options.concurrency, (row) => augment(row, manner, options, at))) {
        at.signal.throwIfAborted()
        yield* made
      }
    },
  }
}

async function augment(
  row: TaskRow,
  manner: Manner,
  options: Options,
  at: AskingContext,
): Promise<(TaskRow | Dropped)[]> {
  const made: (TaskRow | Dropped)[] = options.keepOriginal ? [row] : []
  for (let variant = 1; variant <= options.variants; variant++)
    made.push(await rewrite(row, { manner, variant }, options, at))
  return made
}

interface Rewriting {
  readonly manner: Manner
  readonly variant: number
}

async function rewrite(
  row: TaskRow,
  { manner, variant }: Rewriting,
  { system, temperature, maxOutputTokens, tries }: Options,
  at: AskingContext,
): Promise<TaskRow | Dropped> {
  const suffix = variant === 1 ? manner : `${manner}-${variant}`
  return retoldTask(row, { manner, suffix }, at, async (old) => {
    const how = { system, temperature, maxOutputTokens, tries, id: row.id }
    const told = await rewriteInstruction(old, { manner, variant, how }, at)
    return isDropped(told) ? told : { instruction: told.value, told }
  })
}
