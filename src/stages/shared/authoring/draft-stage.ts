import { z } from 'zod'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped, MapStage } from '../../../core/stage.ts'
import { mapInOrder } from '../../../lib/map-in-order.ts'
import { MissingField } from '../../../lib/template.ts'
import { modelOf } from '../asking/ask.ts'
import { type AskingContext, type AskOptions, askOptions, identityOf, withModel } from '../asking/mapping.ts'
import { Spending } from '../asking/spending.ts'

/** Options of every maker whose tasks are written by a model. */
export const authorOptions = {
  ...askOptions,
  /** Name of the pipeline, for the lineage and the tasks' names. */
  pipeline: z.string().min(1),
  /** How often a draft that fails in a sandbox goes back to the model. */
  repairs: z.number().int().min(0).default(2),
}

/** A maker that asks a model about several rows at once, independently of each other. */
export function draftStage<O extends AskOptions>(
  options: O,
  makeDrafts: (row: RawRow, at: AskingContext) => Promise<readonly (TaskDraft | Dropped)[]>,
): MapStage<RawRow, TaskDraft> {
  // Shared by all runs of the stage: pipelines run it row by row.
  const spending = new Spending(options)
  return {
    kind: 'map',
    takes: 'raw',
    gives: 'draft',
    expensive: true,
    identity: identityOf(options),
    async *run(rows, given) {
      const at = await withModel(given, options, spending)
      modelOf(at)
      for await (const drafts of mapInOrder(rows, options.concurrency, (row) => orMissing(row, makeDrafts(row, at)))) {
        at.signal.throwIfAborted()
        yield* drafts
      }
    },
  }
}

async function orMissing<T>(row: RawRow, drafts: Promise<readonly (T | Dropped)[]>): Promise<readonly (T | Dropped)[]> {
  try {
    return await drafts
  } catch (error) {
    if (!(error instanceof MissingField)) throw error
    return [{ drop: 'missing-field', detail: error.message, id: row.id }]
  }
}
