import { join } from 'node:path'
import type { ResolvedStage } from '../../core/recipe.ts'
import type { ViewDropped, ViewDroppedRows, ViewRecipe } from '../../core/view-data.ts'
import { scanRow } from '../../formats/conversations/facts.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { type DroppedRow, readDropped } from '../../run/recipe/dropped.ts'
import type { DataShelf, ShelfRecipe } from './dataset-shelf.ts'

/** The stages of a run as a flow, with what each kept and dropped. */
export async function viewRecipe(shelf: DataShelf, { id, dir, report }: ShelfRecipe): Promise<ViewRecipe> {
  const lock = Object(parseJson((await readTextIfExists(join(dir, 'lock.json'))) ?? ''))
  const resolved = new Map<string, ResolvedStage>(
    (Array.isArray(lock.stages) ? (lock.stages as ResolvedStage[]) : []).map((stage) => [String(stage.id), stage]),
  )
  const datasetOf = (name: string) => (shelf.has(`${id}:${name}`) ? `${id}:${name}` : null)
  return {
    ...{ id, dir, name: report.name, rehearsal: report.rehearsal ?? false },
    stages: report.stages.map((count) => ({
      ...count,
      from: (resolved.get(count.id)?.from ?? []).map(String),
      form: String(resolved.get(count.id)?.form ?? ''),
      dataset: datasetOf(count.id),
    })),
    outputs: report.outputs.map(({ id: output, counts }) => ({ id: output, dataset: datasetOf(output), counts })),
  }
}

export interface DroppedRequest {
  readonly stage: string
  readonly reason: string
  readonly offset: number
  readonly limit: number
}

/** The rows that a stage dropped, each with a link to the row before that stage. */
export async function viewDropped({ id, dir, report }: ShelfRecipe, ask: DroppedRequest): Promise<ViewDroppedRows> {
  const reason = ask.reason === '' ? null : ask.reason
  const { rows, total, stage, reasons } = await readDropped(dir, report, { ...ask, reason })
  const items = rows.map((row) => droppedOf(id, row))
  return { recipe: report.name, stage, reasons, items, offset: ask.offset, total, complete: true }
}

function droppedOf(run: string, { id, reason, detail, row, step }: DroppedRow): ViewDropped {
  const names = [`${run}:${step}`, 'rows', `=${id}`].map(encodeURIComponent)
  return {
    ...{ id, reason, detail },
    begins: row === null ? '' : scanRow(row).facts.begins,
    link: step === null || id === null ? null : `#/data/${names.join('/')}`,
  }
}
